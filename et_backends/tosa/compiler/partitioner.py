"""Partitioner of the TOSA backend."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from et_backends.tosa.compiler.backend import TOSABackend, compile_specs
from et_backends.tosa.compiler.integer_patterns import integer_patterns, separate_dequantizes
from et_backends.tosa.compiler.specification import DEFAULT_SPECIFICATION, TosaSpecification
from et_backends.tosa.compiler.support import TosaSupport
from et_ir.delegation.backends_by_name import Backend
from et_ir.delegation.operator_partitioner import RESTRICTIONS, OperatorPartitioner, is_move, restrictions
from et_ir.delegation.options import check_options
from et_ir.delegation.specs import DelegationSpec, PartitionResult
from et_ir.delegation.support import OperatorSupport

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


class TosaCompileSpec:
    """Settings of the backend, from a specification such as `TOSA-1.0+FP`. Raises `ValueError`."""

    def __init__(self, tosa_spec: TosaSpecification | str):
        self.tosa_spec = TosaSpecification.of(tosa_spec) if isinstance(tosa_spec, str) else tosa_spec


class TOSAPartitioner(OperatorPartitioner):
    """Takes all that can be legalized to TOSA. With `only`, no other operators; without those of `without`."""

    kept_operators = KEPT

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
        super().__init__(
            DelegationSpec(TOSABackend.backend_id, compile_specs(self.specification)),
            only=only,
            without=without,
            min_ops=min_ops,
        )

    def support(self, method: FuncOp) -> OperatorSupport:
        return self.chosen(self.target_support(method))

    def target_support(self, method: FuncOp) -> TosaSupport:
        """The ops of a method that the target computes."""
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

    def only_moves(self, op: Operation) -> bool:
        return is_move(op)


def _partitioner(options: Mapping[str, str]) -> TOSAPartitioner:
    check_options(options, ("spec", *RESTRICTIONS))
    return TOSAPartitioner(
        TosaCompileSpec(options.get("spec", DEFAULT_SPECIFICATION)),
        **restrictions(options),
    )


BACKEND: Final = Backend("tosa", TOSABackend, _partitioner)
