"""Result types of delegates with sizes known at run time only.

A file has the bounds of these sizes alone; how they depend on those of the inputs, the delegate's graph says, which the
backend's package reads (`et_schema.backend_packages`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from xdsl.dialects.builtin import LocationAttr, ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.traits import SymbolOpInterface

from et_ir.dialects.backend import LoweredOp
from et_ir.dialects.executorch import DelegateCallOp
from et_ir.passes.raising.calls import CannotRaise
from et_schema.backend_packages import backend_packages, load_part
from et_schema.errors import InvalidFile

__all__ = ["DelegateGraph", "DelegateTypes"]


class DelegateGraph(Protocol):
    """The contents of a delegate's blob."""

    def result_types(
        self, location: LocationAttr, inputs: Sequence[SSAValue], bounds: Sequence[Attribute]
    ) -> list[Attribute]:
        """The types of the results for inputs; `bounds` have the element types, layouts and bounds of sizes.

        Raises `CannotRaise`, which says what has no counterpart at the edge level.
        """
        ...


class DelegateTypes:
    """Infers the types of results of the delegates of a module, as far as it can look into them."""

    def __init__(self, module: ModuleOp):
        self._symbols: dict[str, Operation] = {}
        for op in module.body.block.ops:
            trait = op.get_trait(SymbolOpInterface)
            name = None if trait is None else trait.get_sym_attr_name(op)
            if name is not None:
                self._symbols[name.data] = op
        self._graphs: dict[str, DelegateGraph | None] = {}

    def result_types(
        self, call: DelegateCallOp, inputs: Sequence[SSAValue], bounds: Sequence[Attribute]
    ) -> list[Attribute]:
        """The types of the results for inputs; `bounds` have the element types, layouts and bounds of sizes.

        Raises `CannotRaise` for a delegate whose backend reads no graphs, and for a graph that has no counterpart at
        the edge level.
        """
        name = call.callee.string_value()
        if name not in self._graphs:
            self._graphs[name] = self._graph(name)
        graph = self._graphs[name]
        if graph is None:
            raise _unknown(name, "")
        try:
            return graph.result_types(call.location, inputs, bounds)
        except CannotRaise as error:
            raise _unknown(name, f": {error}") from error

    def _graph(self, name: str) -> DelegateGraph | None:
        op = self._symbols.get(name)
        place = "" if op is None else _reader(op)
        if op is None or not place:
            return None
        reader: Callable[[Operation], DelegateGraph | None] = load_part(place)
        try:
            return reader(op)
        except InvalidFile as error:
            raise CannotRaise(f"[raise_c4] the delegate @{name} is damaged: {error}") from error


def _reader(op: Operation) -> str:
    """The place of the reader of an op: a blob, or the graph that one has become, in a dialect of its backend."""
    dialect = op.name.partition(".")[0]
    for package in backend_packages().found.values():
        is_of = (
            op.backend.data == package.backend_id
            if isinstance(op, LoweredOp)
            else dialect in package.dialects
        )
        if is_of and package.graph:
            return package.graph
    return ""


def _unknown(name: str, why: str) -> CannotRaise:
    return CannotRaise(
        f"[raise_c4] sizes of results of the delegate @{name} are known at run time only{why}",
        "compile the program from its source",
    )
