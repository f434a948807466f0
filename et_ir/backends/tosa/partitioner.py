"""Partitioner of the TOSA backend."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from et_ir.backends.tosa.backend import TOSABackend, compile_specs
from et_ir.backends.tosa.integer_patterns import integer_patterns, separate_dequantizes
from et_ir.backends.tosa.specification import DEFAULT_SPECIFICATION, TosaSpecification
from et_ir.backends.tosa.support import TosaSupport
from et_ir.delegation.backends_by_name import Backend
from et_ir.delegation.capability import CapabilityPartitioner
from et_ir.delegation.options import check_options, number_option, operators, operators_option
from et_ir.delegation.partitioner import KeepFilter
from et_ir.delegation.specs import DelegationSpec, PartitionResult
from et_ir.delegation.support import ChosenByUser, OperatorSupport
from et_ir.diagnostics import Diagnostic
from et_ir.dialects.schema import SchemaOp

if TYPE_CHECKING:
    from torch._ops import OpOverload

__all__ = ["BACKEND", "KEPT", "TOSAPartitioner", "TosaCompileSpec"]

KEPT: Final = (
    "hardsigmoid",
    "hardswish",
    "linear",
    "silu",
    "upsample_bilinear2d.vec",
    "upsample_nearest2d.vec",
)
"""Operators that fewer operators of TOSA compute than what they are made of."""

_MOVES: Final = frozenset(
    {
        "clone",
        "dim_order_ops._clone_dim_order",
        "expand_copy",
        "permute_copy",
        "squeeze_copy.dim",
        "squeeze_copy.dims",
        "t_copy",
        "transpose_copy.int",
        "unsqueeze_copy",
        "view_copy",
    }
)
"""Operators that compute nothing: a partition of these alone is not worth the call."""


class TosaCompileSpec:
    """Settings of the backend, from a specification such as `TOSA-1.0+FP`. Raises `ValueError`."""

    def __init__(self, tosa_spec: TosaSpecification | str):
        self.tosa_spec = TosaSpecification.of(tosa_spec) if isinstance(tosa_spec, str) else tosa_spec


class TOSAPartitioner(CapabilityPartitioner):
    """Takes all that can be legalized to TOSA. With `only`, no other operators; without those of `without`."""

    def __init__(
        self,
        compile_spec: TosaCompileSpec | None = None,
        *,
        only: Sequence[str] = (),
        without: Sequence[str] = (),
        min_ops: int = 1,
    ):
        given = compile_spec or TosaCompileSpec(DEFAULT_SPECIFICATION)
        self.specification = given.tosa_spec
        super().__init__(DelegationSpec(TOSABackend.backend_id, compile_specs(self.specification)))
        self.min_ops = min_ops
        self._only = operators(only)
        self._without = operators(without)

    def support(self, method: FuncOp) -> OperatorSupport:
        return ChosenByUser(self.target_support(method), self._only, self._without)

    def target_support(self, method: FuncOp) -> TosaSupport:
        """What the target computes of a method."""
        return TosaSupport(method, self.specification)

    def patterns(self, method: FuncOp) -> Iterable[Sequence[Operation]]:
        if self.specification.supports_float:
            return ()
        support, chosen = self.target_support(method), self.support(method)
        return integer_patterns(
            method, lambda op: support.is_in_integers(op) and chosen.is_node_supported(op)
        )

    def partition(self, method: FuncOp) -> PartitionResult:
        if not self.specification.supports_float:
            separate_dequantizes(method)
        return super().partition(method)

    def ops_to_not_decompose(
        self,
    ) -> tuple[Sequence[str | type[Operation] | OpOverload], KeepFilter | None]:
        return [name for name in KEPT if name not in self._without], None

    def refuse_partition(self, ops: Sequence[Operation]) -> Diagnostic | None:
        if all(isinstance(op, SchemaOp) and op.name.removeprefix("edge.") in _MOVES for op in ops):
            return Diagnostic("the partition computes nothing", "it only moves elements")
        return super().refuse_partition(ops)


def _partitioner(options: Mapping[str, str]) -> TOSAPartitioner:
    check_options(options, ("spec", "only", "without", "min"))
    return TOSAPartitioner(
        TosaCompileSpec(options.get("spec", DEFAULT_SPECIFICATION)),
        only=operators_option(options, "only"),
        without=operators_option(options, "without"),
        min_ops=number_option(options, "min", 1),
    )


BACKEND: Final = Backend("tosa", TOSABackend, _partitioner)
