"""Capabilities of a backend.

A capability says for each op whether the backend can compute it, or why not.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from typing import Final

from xdsl.ir import Attribute, Operation

from et_ir.delegation.dependences import outer_operands
from et_ir.diagnostics import Diagnostic
from et_ir.dialects.control import ControlOp
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.literals import element_type_name
from et_ir.dialects.schema.tensors import is_tensor

__all__ = [
    "AnyOf",
    "ChosenByUser",
    "EverythingSupported",
    "OperatorSupport",
    "SupportTable",
    "supports_what_is_in",
]


class OperatorSupport(ABC):
    """Says of each op whether a backend takes it."""

    @abstractmethod
    def refusal(self, op: Operation) -> Diagnostic | None:
        """Why the backend does not take an op, None if it does."""

    def is_node_supported(self, op: Operation) -> bool:
        """Whether the backend takes an op."""
        return self.refusal(op) is None


class EverythingSupported(OperatorSupport):
    """All operators of the edge level, of any element type."""

    def refusal(self, op: Operation) -> Diagnostic | None:
        if isinstance(op, SchemaOp):
            return None
        return Diagnostic("no operator", op.name)


class SupportTable(OperatorSupport):
    """Operators by name (`add.Tensor`) or op class, each with the element types that its tensors can have.

    `None` stands for any element type. With `static`, sizes have to be known when the program is compiled. `literals`
    are arguments, by name, that the backend takes with one value only, for whatever operator has them.
    """

    def __init__(
        self,
        table: Mapping[str | type[SchemaOp], Collection[Attribute] | None],
        *,
        static: bool = False,
        literals: Mapping[str, object] | None = None,
    ):
        self._static = static
        self._literals = dict(literals or {})
        self._table: Final = {
            key if isinstance(key, str) else key.operator.view_form: types for key, types in table.items()
        }

    def refusal(self, op: Operation) -> Diagnostic | None:
        name = op.operator.view_form if isinstance(op, SchemaOp) else op.name
        if name not in self._table:
            return Diagnostic("operator not supported by the backend", name)
        types = self._table[name]
        for argument, wanted in self._literals.items():
            if isinstance(op, SchemaOp) and argument in op.info().schema.by_name:
                given = op.arg(argument)
                if given != wanted:
                    return Diagnostic("argument", f"{argument} = {given}, it takes {wanted}")
        for value in (*op.operands, *op.results):
            tensor = value.type
            if not is_tensor(tensor):
                continue
            if self._static and not tensor.has_static_shape():
                return Diagnostic("dynamic size", str(tensor))
            if types is not None and tensor.element_type not in types:
                taken = ", ".join(map(element_type_name, types))
                return Diagnostic(
                    "element type", f"{element_type_name(tensor.element_type)}, not one of {taken}"
                )
        return None


class AnyOf(OperatorSupport):
    """Union of capabilities; the reason against an op is that of the last."""

    def __init__(self, *supports: OperatorSupport):
        self._supports = supports

    def refusal(self, op: Operation) -> Diagnostic | None:
        refusal: Diagnostic | None = Diagnostic("operator not supported by the backend", op.name)
        for support in self._supports:
            refusal = support.refusal(op)
            if refusal is None:
                return None
        return refusal


def is_chosen(operator: str, only: Collection[str], without: Collection[str]) -> bool:
    """Whether a user has not left out an operator, and named it if the user named any."""
    return operator not in without and (not only or operator in only)


class ChosenByUser(OperatorSupport):
    """A capability without the operators that a user has left out, and with only those that the user has named."""

    def __init__(self, support: OperatorSupport, only: Collection[str], without: Collection[str]):
        self._support = support
        self._only = only
        self._without = without

    def refusal(self, op: Operation) -> Diagnostic | None:
        if isinstance(op, SchemaOp):
            name = op.operator.view_form
            if not is_chosen(name, self._only, self._without):
                return Diagnostic("left out by the user", name)
        return self._support.refusal(op)


def supports_what_is_in(support: OperatorSupport, op: ControlOp) -> Diagnostic | None:
    """Why a backend that runs control flow does not take an op of it: the first op in it that it does not take."""
    from et_ir.delegation.dependences import is_copied, is_statement
    from et_ir.dialects.control import YieldOp

    for region in op.regions:
        for inner in region.walk():
            if is_copied(inner) or is_statement(inner) or isinstance(inner, YieldOp):
                continue
            refusal = (
                supports_what_is_in(support, inner)
                if isinstance(inner, ControlOp)
                else number_refusal(inner) or support.refusal(inner)
            )
            if refusal is not None:
                return Diagnostic("an op in its body is not supported", f"{inner.name}, {refusal}")
    return None


def number_refusal(op: Operation, *, takes_numbers: bool = False) -> Diagnostic | None:
    """Why an op cannot be in a partition because of the numbers it uses or makes: only tensors go in and out, and
    a partition computes sizes, but nothing that a tensor holds. With `takes_numbers`, numbers go in as well.
    """
    from et_ir.delegation.dependences import is_copied

    for result in op.results:
        if not is_tensor(result.type):
            return Diagnostic("returns a scalar", f"its result is {result.type}")
    if takes_numbers:
        return None
    pending = [value for value in outer_operands(op) if not is_tensor(value.type)]
    while pending:
        value = pending.pop()
        owner = value.owner
        if isinstance(owner, Operation) and is_copied(owner):
            pending.extend(operand for operand in owner.operands if not is_tensor(operand.type))
        elif isinstance(owner, Operation) or not isinstance(owner.parent_op(), ControlOp):
            return Diagnostic("takes a dynamic scalar", f"of type {value.type}")
    return None
