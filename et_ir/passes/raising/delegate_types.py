"""Result types of delegates with sizes known at run time only.

A file has the bounds of these sizes alone; how they depend on those of the inputs, the delegate's graph says.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, SSAValue

from et_backends.xnnpack.dialect import GraphOp
from et_backends.xnnpack.dialect.graphs import BACKEND, opened
from et_backends.xnnpack.raising.graph import GraphRaiser, discard
from et_backends.xnnpack.raising.nodes import CannotRaiseNode
from et_ir.dialects.backend import LoweredOp
from et_ir.dialects.executorch import DelegateCallOp
from et_ir.passes.raising.calls import CannotRaise
from et_schema.errors import InvalidFile

__all__ = ["DelegateTypes"]


class DelegateTypes:
    """Infers the types of results of the delegates of a module, as far as it can look into them."""

    def __init__(self, module: ModuleOp):
        self._symbols = {
            op.sym_name.data: op for op in module.body.block.ops if isinstance(op, LoweredOp | GraphOp)
        }

    def result_types(
        self, call: DelegateCallOp, inputs: Sequence[SSAValue], bounds: Sequence[Attribute]
    ) -> list[Attribute]:
        """The types of the results for inputs; `bounds` have the element types, layouts and bounds of sizes.

        Raises `CannotRaise` for a delegate of another backend than XNNPACK, and for a graph that has no counterpart at
        the edge level.
        """
        name = call.callee.string_value()
        graph = self._graph(name)
        if graph is None:
            raise _unknown(name, "")
        raiser = GraphRaiser(graph, call.location, None)
        try:
            return [value.type for value in raiser.run(inputs, bounds, exact=False)]
        except CannotRaiseNode as error:
            raise _unknown(name, f": its graph has {error}") from error
        finally:
            discard(raiser.ops)

    def _graph(self, name: str) -> GraphOp | None:
        found = self._symbols.get(name)
        if isinstance(found, LoweredOp):
            if found.backend.data != BACKEND:
                return None
            try:
                graph = opened(found)
            except InvalidFile as error:
                raise CannotRaise(f"[raise_c4] the delegate @{name} is damaged: {error}") from error
            if graph is None:
                return None
            found = self._symbols[name] = graph
        return found


def _unknown(name: str, why: str) -> CannotRaise:
    return CannotRaise(
        f"[raise_c4] sizes of results of the delegate @{name} are known at run time only{why}",
        "compile the program from its source",
    )
