"""Contexts that find op classes of operators by name.

Rewrites that are data (`apply-pdl`) make ops that no text has named before.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from typing import Final

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from et_ir.dialects import aten, edge
from et_ir.dialects.program.operator_declarations import DeclareOperatorOp

__all__ = ["OPERATOR_CLASSES", "OperatorContext", "operator_op_class"]

OPERATOR_CLASSES: Final = (aten.OP_BY_NAME, edge.OP_BY_NAME)


def operator_op_class(name: str) -> type[Operation] | None:
    """The op class of an operator by its full name, `aten.add.Tensor`; `None` for any other op."""
    return next((found for classes in OPERATOR_CLASSES if (found := classes.of_op(name))), None)


def _declared_classes(module: ModuleOp) -> dict[str, type[Operation]]:
    """The op classes of the operators that a module declares, by name."""
    declared = (op for op in module.body.block.ops if isinstance(op, DeclareOperatorOp))
    return {made.name: made for op in declared for made in op.classes()}


@dataclass
class OperatorContext(Context):
    """A context that makes the op classes of the aten and edge dialects when they are asked for by name."""

    _declared: Callable[[], Mapping[str, type[Operation]]] = dict[str, type[Operation]]

    @contextmanager
    def declarations_of(self, module: ModuleOp) -> Generator[None]:
        """Within, ops of the operators that a module declares are found, too: other modules may declare others of these
        names.
        """
        # Few passes ask for ops by name.
        outer, self._declared = self._declared, cache(partial(_declared_classes, module))
        try:
            yield
        finally:
            self._declared = outer

    def get_optional_op(self, name: str, *, dialect_stack: Sequence[str] = ()) -> type[Operation] | None:
        """The op class of a name, `None` if there is none; operators come before unregistered ops."""
        known = self._declared().get(name) or operator_op_class(name)
        return known or super().get_optional_op(name, dialect_stack=dialect_stack)
