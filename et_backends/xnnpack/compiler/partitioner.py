"""Partitioner of the XNNPACK backend."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from et_backends.xnnpack.compiler.blob import XnnpackBackend
from et_backends.xnnpack.compiler.prelu import prelus
from et_backends.xnnpack.compiler.support import XnnpackSupport
from et_ir.delegation.backends_by_name import Backend
from et_ir.delegation.operator_partitioner import RESTRICTIONS, OperatorPartitioner, is_move, restrictions
from et_ir.delegation.options import check_options
from et_ir.delegation.specs import DelegationSpec
from et_ir.delegation.support import OperatorSupport

__all__ = ["BACKEND", "KEPT", "XnnpackPartitioner"]

KEPT: Final = (
    "hardswish",
    "linear",
    "silu",
    "upsample_bilinear2d.vec",
)
"""Operators that XNNPACK has a node for, or fewer nodes than for what they are made of."""


class XnnpackPartitioner(OperatorPartitioner):
    """Takes all that XNNPACK has nodes for. With `only`, no other operators; without those of `without`."""

    kept_operators = KEPT

    def __init__(self, *, only: Sequence[str] = (), without: Sequence[str] = (), min_ops: int = 1):
        super().__init__(
            DelegationSpec(XnnpackBackend.backend_id), only=only, without=without, min_ops=min_ops
        )

    def support(self, method: FuncOp) -> OperatorSupport:
        return self.chosen(XnnpackSupport(method))

    def patterns(self, method: FuncOp) -> Iterable[Sequence[Operation]]:
        support = XnnpackSupport(method)
        chosen, layers = self.chosen(support), support.dynamic.layers
        found: list[Sequence[Operation]] = [
            ops
            for ops in support.dynamic.patterns
            if all(chosen.is_node_supported(op) for op in ops if op in layers)
        ]
        if not self.only and "where.self" not in self.without:
            found += [one.ops for one in prelus(method.body.block)]
        return found

    def only_moves(self, op: Operation) -> bool:
        return is_move(op)


def _partitioner(options: Mapping[str, str]) -> XnnpackPartitioner:
    check_options(options, RESTRICTIONS)
    return XnnpackPartitioner(**restrictions(options))


BACKEND: Final = Backend("xnnpack", XnnpackBackend, _partitioner)
