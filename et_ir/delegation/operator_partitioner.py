"""Partitioner whose operators users can restrict by name: the base of those that come with the compiler."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Final, TypedDict

from xdsl.ir import Operation

from et_ir.delegation.capability import CapabilityPartitioner
from et_ir.delegation.options import number_option, operators, operators_option
from et_ir.delegation.partitioner import KeepFilter
from et_ir.delegation.specs import DelegationSpec
from et_ir.delegation.support import ChosenByUser, OperatorSupport
from et_ir.diagnostics import Diagnostic
from et_ir.dialects.schema import SchemaOp

if TYPE_CHECKING:
    from torch._ops import OpOverload

__all__ = ["RESTRICTIONS", "OperatorPartitioner", "Restrictions", "is_move", "restrictions"]

RESTRICTIONS: Final = ("only", "without", "min")
"""Options of `et-compile --backend NAME:…` that every `OperatorPartitioner` has."""


class Restrictions(TypedDict):
    """Arguments of an `OperatorPartitioner`."""

    only: list[str]
    without: list[str]
    min_ops: int


def restrictions(options: Mapping[str, str]) -> Restrictions:
    """The arguments that the options of `RESTRICTIONS` give. Raises `ValueError`."""
    return {
        "only": operators_option(options, "only"),
        "without": operators_option(options, "without"),
        "min_ops": number_option(options, "min", 1),
    }


class OperatorPartitioner(CapabilityPartitioner):
    """A partitioner that takes no operators other than those in `only`, if there are any, and none in `without`.

    Operators are named as `options.operators` takes them. Partitions have at least `min_ops` ops.
    """

    kept_operators: ClassVar[Collection[str]] = ()
    """Operators of the aten level to keep whole, by name."""

    def __init__(
        self,
        delegation_spec: DelegationSpec,
        *,
        only: Sequence[str] = (),
        without: Sequence[str] = (),
        min_ops: int = 1,
    ):
        """Raises `ValueError` for an operator that does not exist."""
        super().__init__(delegation_spec)
        self.min_ops = min_ops
        self.only, self.without = operators(only), operators(without)

    def chosen(self, support: OperatorSupport) -> OperatorSupport:
        """The operators that the user has chosen of those that a backend supports."""
        return ChosenByUser(support, self.only, self.without)

    def only_moves(self, op: Operation) -> bool:
        """Whether an op only moves elements. A partition of such ops alone is not worth a call."""
        return False

    def keep_filter(self) -> KeepFilter | None:
        """Which ops of `kept_operators` to keep; None for all."""
        return None

    def ops_to_not_decompose(
        self,
    ) -> tuple[Sequence[str | type[Operation] | OpOverload], KeepFilter | None]:
        return [name for name in self.kept_operators if name not in self.without], self.keep_filter()

    def refuse_partition(self, ops: Sequence[Operation]) -> Diagnostic | None:
        if all(map(self.only_moves, ops)):
            return Diagnostic("the partition computes nothing", "it only moves elements")
        return super().refuse_partition(ops)


def is_move(op: Operation) -> bool:
    """Whether an op is a copy or a view, whose results have the elements of its operand."""
    return isinstance(op, SchemaOp) and (op.operator.rearranges or op.operator.name == "expand_copy")
