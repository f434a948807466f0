"""Partitioner of the Ethos-U backend."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from et_backends.ethos_u.compiler.backend import EthosUBackend
from et_backends.ethos_u.compiler.compile_spec import EthosUCompileSpec
from et_backends.ethos_u.compiler.vela import require_vela
from et_backends.tosa.compiler.partitioner import TosaCompileSpec, TOSAPartitioner
from et_backends.tosa.compiler.support import TosaSupport
from et_backends.tosa.dialect import TosaOp
from et_backends.tosa.dialect.attributes import type_of
from et_backends.tosa.format.graph import DType, Op
from et_ir.delegation.backends_by_name import Backend
from et_ir.delegation.operator_partitioner import RESTRICTIONS, restrictions
from et_ir.delegation.options import check_options
from et_ir.delegation.specs import DelegationSpec
from et_ir.diagnostics import Diagnostic
from et_schema.wording import worded

__all__ = ["BACKEND", "EthosUPartitioner"]

_BITWISE: Final = frozenset({Op.BITWISE_AND, Op.BITWISE_NOT, Op.BITWISE_OR, Op.BITWISE_XOR})
_EXTREMES: Final = frozenset({Op.REDUCE_MAX, Op.REDUCE_MIN})


class _Support(TosaSupport):
    """Ops that an Ethos-U computes: all of TOSA's integers on a U85, arithmetic on older ones."""

    def __init__(self, method: FuncOp, spec: EthosUCompileSpec):
        super().__init__(method, spec.tosa_spec)
        self._spec = spec

    def refusal_of(self, made: Iterable[Operation]) -> Diagnostic | None:
        if self._spec.family == "u85":
            return None
        for op in made:
            if not isinstance(op, TosaOp):
                continue
            kinds = {type_of(value).dtype for value in (*op.operands, op.output)}
            wide = op.op in _EXTREMES and DType.INT32 in kinds
            if DType.BOOL in kinds or op.op in _BITWISE or wide:
                return Diagnostic(f"{self._spec.target} does not compute it", op.op.name)
        return None


class EthosUPartitioner(TOSAPartitioner):
    """Takes quantized ops that the processor computes. With `only`, no other operators; without those of `without`."""

    def __init__(
        self,
        compile_spec: EthosUCompileSpec,
        *,
        only: Sequence[str] = (),
        without: Sequence[str] = (),
        min_ops: int = 1,
    ):
        super().__init__(TosaCompileSpec(compile_spec.tosa_spec), only=only, without=without, min_ops=min_ops)
        self.delegation_spec = DelegationSpec(EthosUBackend.backend_id, compile_spec.compile_specs())
        self.compile_spec = compile_spec

    def target_support(self, method: FuncOp) -> TosaSupport:
        return _Support(method, self.compile_spec)


def _partitioner(options: Mapping[str, str]) -> EthosUPartitioner:
    check_options(options, ("target", "system-config", "memory-mode", "config", "flags", *RESTRICTIONS))
    require_vela()
    if "target" not in options:
        runtime = worded(
            python=f"ExecutorchBackendConfig(extra_backends=[{EthosUBackend.backend_id!r}])",
            command=f"--extra-backends {EthosUBackend.backend_id}",
        )
        raise ValueError(
            "a target is required, as in ethos-u:target=ethos-u85-256; of a runtime that has the backend, "
            f"say {runtime}"
        )
    spec = EthosUCompileSpec(
        options["target"],
        options.get("system-config"),
        options.get("memory-mode"),
        options.get("flags", "").split(),
        options.get("config"),
    )
    return EthosUPartitioner(
        spec,
        **restrictions(options),
    )


BACKEND: Final = Backend("ethos-u", EthosUBackend, _partitioner)
