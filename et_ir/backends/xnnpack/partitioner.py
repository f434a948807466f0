"""Partitioner of the XNNPACK backend."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from et_ir.backends.xnnpack.blob import XnnpackBackend
from et_ir.backends.xnnpack.prelu import prelus
from et_ir.backends.xnnpack.support import XnnpackSupport
from et_ir.delegation.backends_by_name import Backend
from et_ir.delegation.capability import CapabilityPartitioner
from et_ir.delegation.options import check_options, number_option, operators, operators_option
from et_ir.delegation.partitioner import KeepFilter
from et_ir.delegation.specs import DelegationSpec
from et_ir.delegation.support import ChosenByUser, OperatorSupport
from et_ir.diagnostics import Diagnostic
from et_ir.dialects.schema import SchemaOp

if TYPE_CHECKING:
    from torch._ops import OpOverload

__all__ = ["BACKEND", "KEPT", "XnnpackPartitioner"]

KEPT: Final = (
    "hardswish",
    "linear",
    "silu",
    "upsample_bilinear2d.vec",
)
"""Operators that XNNPACK has a node for, or fewer nodes than for what they are made of."""

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


class XnnpackPartitioner(CapabilityPartitioner):
    """Takes all that XNNPACK has nodes for. With `only`, no other operators; without those of `without`."""

    def __init__(self, *, only: Sequence[str] = (), without: Sequence[str] = (), min_ops: int = 1):
        super().__init__(DelegationSpec(XnnpackBackend.backend_id))
        self.min_ops = min_ops
        self._only = operators(only)
        self._without = operators(without)

    def support(self, method: FuncOp) -> OperatorSupport:
        return self._chosen(XnnpackSupport(method))

    def _chosen(self, support: XnnpackSupport) -> OperatorSupport:
        return ChosenByUser(support, self._only, self._without)

    def ops_to_not_decompose(
        self,
    ) -> tuple[Sequence[str | type[Operation] | OpOverload], KeepFilter | None]:
        return [name for name in KEPT if name not in self._without], None

    def patterns(self, method: FuncOp) -> Iterable[Sequence[Operation]]:
        support = XnnpackSupport(method)
        chosen, layers = self._chosen(support), support.dynamic.layers
        found: list[Sequence[Operation]] = [
            ops
            for ops in support.dynamic.patterns
            if all(chosen.is_node_supported(op) for op in ops if op in layers)
        ]
        if not self._only and "where.self" not in self._without:
            found += [one.ops for one in prelus(method.body.block)]
        return found

    def refuse_partition(self, ops: Sequence[Operation]) -> Diagnostic | None:
        if all(isinstance(op, SchemaOp) and op.name.removeprefix("edge.") in _MOVES for op in ops):
            return Diagnostic("the partition computes nothing", "it only moves elements")
        return super().refuse_partition(ops)


def _partitioner(options: Mapping[str, str]) -> XnnpackPartitioner:
    check_options(options, ("only", "without", "min"))
    return XnnpackPartitioner(
        only=operators_option(options, "only"),
        without=operators_option(options, "without"),
        min_ops=number_option(options, "min", 1),
    )


BACKEND: Final = Backend("xnnpack", XnnpackBackend, _partitioner)
