"""Partitioners: the decision which ops go to which backend."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from et_ir.delegation.specs import PartitionResult

if TYPE_CHECKING:
    from torch._ops import OpOverload

__all__ = ["KeepFilter", "Partitioner", "Partitioners", "all_partitioners"]

KeepFilter = Callable[[Operation], bool]
"""Whether one op, of an operator that a backend wants kept, is to be kept."""


class Partitioner(ABC):
    """Decides which ops of a method go to which backend.

    Most derive from `CapabilityPartitioner`, which finds convex partitions for what they say of each op.
    """

    @abstractmethod
    def partition(self, method: FuncOp) -> PartitionResult:
        """Tag the ops of a method, also those in regions of control flow. Nothing but tags may change."""

    def ops_to_not_decompose(
        self,
    ) -> tuple[Sequence[str | type[Operation] | OpOverload], KeepFilter | None]:
        """Operators of the aten level to keep whole, by name (`linear`) or op class; and which of them, where that
        depends on the op. Those that no partition takes in the end are decomposed after all.
        """
        return (), None

    def passes(self) -> Sequence[ModulePass]:
        """Passes that bring a program at the edge level into the form that `partition` looks for. They run on the
        whole program right before it is partitioned.
        """
        return ()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __call__(self, method: FuncOp) -> PartitionResult:
        """`partition`."""
        return self.partition(method)


Partitioners = Partitioner | Sequence[Partitioner] | Mapping[str, Partitioner | Sequence[Partitioner]]
"""Partitioners for all methods, or by method; of several, each gets what those before it left."""


def all_partitioners(partitioners: Partitioners) -> Iterable[Partitioner]:
    """Each of the partitioners, in the order in which they are asked. Raises `TypeError` for anything else."""
    for given in partitioners.values() if isinstance(partitioners, Mapping) else [partitioners]:
        if isinstance(given, Partitioner):
            yield given
            continue
        if isinstance(given, str | type) or not isinstance(given, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise _no_partitioner(given)
        for one in given:
            if not isinstance(one, Partitioner):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise _no_partitioner(one)
            yield one


def _no_partitioner(given: object) -> TypeError:
    if isinstance(given, str):
        return TypeError(
            f"a partitioner is an object, not the name {given!r}: et_ir.backends.make_partitioner({given!r}) makes one"
        )
    kind = type(given)
    if issubclass(kind, type):
        name = cast("type", given).__name__
        return TypeError(f"a partitioner is an object, not the class {name}: {name}() makes one")
    return TypeError(f"a partitioner is an object of et_ir.backends.Partitioner, not {kind.__name__}")
