"""Pages of the reference of dialects: operations with their members, attributes and types."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple, cast

from xdsl.dialects.builtin import ArrayOfConstraint, IntegerAttr, SymbolNameConstraint, SymbolRefAttr
from xdsl.ir import Attribute, Dialect, Operation, TypeAttribute
from xdsl.irdl import (
    AnyAttr,
    AnyOf,
    BaseAttr,
    EqAttrConstraint,
    MessageConstraint,
    OpDef,
    OptionalDef,
    ParamAttrConstraint,
    RangeLengthConstraint,
    RangeOf,
    VarConstraint,
    VariadicDef,
)
from xdsl.traits import HasParent, OpTrait, SingleBlockImplicitTerminator

from dev.docstrings import (
    constant_docstrings,
    field_docstrings,
    first_sentence,
    in_a_line,
    paragraphs,
)
from et_backends.codegen.dialect import Native
from et_backends.tosa.dialect import Tosa, TosaOp
from et_backends.tosa.format.operators import ATTRIBUTES, ELEMENT_TYPES, OPERANDS, VARIADIC
from et_backends.vulkan.dialect import Spirv
from et_backends.xnnpack.dialect import NodeOp, Xnnpack
from et_backends.xnnpack.dialect.nodes import NODE_OPS
from et_backends.xnnpack.format.nodes import roles_of
from et_ir.dialects.backend import Backend
from et_ir.dialects.control import Control
from et_ir.dialects.discardable import DISCARDABLE
from et_ir.dialects.edge import Edge
from et_ir.dialects.executorch import Executorch
from et_ir.dialects.program import Program
from et_ir.dialects.schema import SchemaOp
from et_ir.universe import dialect_places
from et_schema.tables import fields_of

__all__ = ["DIALECTS", "FAMILIES", "dialect_page", "operators_page"]

DIALECTS = {
    dialect.name: dialect for dialect in (Program, Control, Backend, Executorch, Xnnpack, Native, Spirv, Tosa)
}
"""Dialects whose operations are written by hand. Those of `aten` and `edge` are made from operator records."""

FAMILIES = (NodeOp, TosaOp)
"""Base classes of operations that are made from a schema and differ in its fields alone: they share a section."""

_SEGMENTS = frozenset({"operandSegmentSizes", "resultSegmentSizes"})
"""Properties of IRDL's own."""


class _Member(NamedTuple):
    """An operand, attribute, result, region or successor of an operation."""

    name: str
    role: str
    type: str
    meaning: str


def _module(dialect: str) -> ModuleType:
    """The module that has a dialect."""
    return import_module(dialect_places()[dialect].partition(":")[0])


def dialect_page(dialect: Dialect) -> Iterator[str]:
    """The lines of a dialect's page. Raises ValueError for an operation or a member without a docstring."""
    name = dialect.name
    introduction = paragraphs(_module(name)).partition("\n\n")[2]
    yield f"# The `{name}` dialect"
    yield ""
    yield "{BANNER}"
    yield ""
    yield introduction
    yield ""
    yield f"The [rationale](../rationale/{name}.md) says why the dialect is as it is."
    yield ""
    operations = [op for op in dialect.operations if not issubclass(op, FAMILIES)]
    has_family = len(operations) < len(list(dialect.operations))
    title, summary, family = _FAMILY_SECTIONS.get(name, ("", "", _nodes))
    yield "| operation | |"
    yield "|---|---|"
    for op in operations:
        yield f"| [`{op.name}`](#{_slug(op.name)}) | {first_sentence(paragraphs(op))} |"
    if has_family:
        yield f"| [{title.lower()}](#{_slug(title.lower())}) | {summary} |"
    for op in operations:
        yield ""
        yield f"## {op.name}"
        yield ""
        yield from _operation(op, op)
    if has_family:
        yield ""
        yield f"## {title}"
        yield ""
        yield from family()
    yield from _attributes(dialect)


def operators_page() -> Iterator[str]:
    """The lines of the page of `aten` and `edge`, whose operations are made from records of operators."""
    yield "# The `aten` and `edge` dialects"
    yield ""
    yield "{BANNER}"
    for dialect in ("aten", "edge"):
        yield ""
        yield paragraphs(_module(dialect))
    yield ""
    yield (
        "An operation for each overload of an operator, made from its record (`et_ops`) when it is first asked for: "
        "`edge.add.Tensor` is `et_ir.dialects.edge.ops.AddTensorOp`, whose docstring has what it computes and an "
        "example. `make docs` writes a table of all of them ([operators](../operators.md)). The rationales are "
        "[aten](../rationale/aten.md) and [edge](../rationale/edge.md)."
    )
    for title, module in (
        ("Operands and literals", "et_ir.dialects.schema.op"),
        ("Syntax", "et_ir.dialects.schema.syntax"),
    ):
        yield ""
        yield f"## {title}"
        yield ""
        yield paragraphs(import_module(module)).partition("\n\n")[2]
    yield ""
    yield "## Rules"
    yield ""
    yield inspect.cleandoc(SchemaOp.verify_.__doc__ or "")
    yield ""
    yield paragraphs(import_module("et_ir.dialects.edge.rules"))
    yield from _attributes(Edge)


def _attributes(dialect: Dialect) -> Iterator[str]:
    """The sections of attributes and types, and of what may be said of any op."""
    attributes = list(dialect.attributes)
    if attributes:
        yield ""
        yield "## Attributes and types"
    for attribute in attributes:
        mark = "!" if issubclass(attribute, TypeAttribute) else "#"
        yield ""
        yield f"### {mark}{attribute.name}"
        yield ""
        yield paragraphs(attribute)
    said = sorted(_discardable(dialect.name))
    if said:
        yield ""
        yield "## Discardable attributes"
        yield ""
        yield "| attribute | |"
        yield "|---|---|"
        for name, meaning in said:
            yield f"| `{name}` | {meaning} |"


def _discardable(dialect: str) -> Iterator[tuple[str, str]]:
    """The discardable attributes that a dialect declares, as constants of its modules, with their docstrings."""
    declared = {name for name in DISCARDABLE if name.startswith(f"{dialect}.")}
    places = ("et_ir.dialects.", f"{_module(dialect).__name__}.")
    for module in [name for name in sys.modules if name.startswith(places)]:
        for constant, meaning in constant_docstrings(module).items():
            name = getattr(sys.modules[module], constant)
            if isinstance(name, str) and name in declared:
                declared.remove(name)
                yield name, meaning
    if declared:
        raise ValueError(f"no docstring of {', '.join(sorted(declared))}")


def _slug(title: str) -> str:
    return title.replace(".", "")


def _operation(op: type[Operation], documented: type[Operation]) -> Iterator[str]:
    """The section of an operation; `documented` is the class whose docstring it shows."""
    yield paragraphs(documented)
    rules = list(_inherited_rules(op, documented))
    if rules:
        yield ""
        yield f"Rules of the base classes: {'; '.join(rules)}."
    definition = cast(Any, op).get_irdl_definition()
    members = list(_members(op, definition))
    if members:
        yield ""
        yield "| | | type | |"
        yield "|---|---|---|---|"
        for member in members:
            yield f"| `{member.name}` | {member.role} | {member.type} | {member.meaning} |"
    traits = [_trait(trait) for trait in op.traits.traits] if op.traits else []
    if traits:
        yield ""
        yield f"Traits: {'; '.join(sorted(traits))}."
    if definition.assembly_format:
        yield ""
        yield f"Syntax: `` {definition.assembly_format} ``"
    elif "\nSyntax: " not in paragraphs(documented):
        raise ValueError(f"{op.name}: the docstring does not say the syntax, which the parser implements")


def _inherited_rules(op: type[Operation], documented: type[Operation]) -> Iterator[str]:
    """The rules in the docstrings of base classes."""
    for base in op.__mro__[1:]:
        text = vars(base).get("__doc__") or ""
        if issubclass(base, Operation) and text not in (op.__doc__, documented.__doc__):
            at = text.find("Rule")
            if at >= 0:
                yield in_a_line(text[at:]).partition(": ")[2].rstrip(".")


def _members(op: type[Operation], definition: OpDef) -> Iterator[_Member]:
    meanings = field_docstrings(op)
    renamed = {name: accessor for accessor, (name, _) in definition.accessor_names.items()}

    def member(name: str, role: str, type: str, one: object) -> _Member:
        meaning = meanings.get(renamed.get(name, name))
        if meaning is None:
            raise ValueError(f"{op.name}: {role} {name} has no docstring")
        if isinstance(one, VariadicDef) and not isinstance(one, OptionalDef):
            role += "s"
        if isinstance(one, OptionalDef):
            role = f"optional {role}"
        return _Member(name, role, type, meaning)

    for name, one in definition.operands:
        yield member(name, "operand", _constraint(one.constr), one)
    for name, one in definition.properties.items():
        if name not in _SEGMENTS:
            yield member(name, "attribute", _constraint(one.constr), one)
    for name, one in definition.results:
        yield member(name, "result", _constraint(one.constr), one)
    for name, one in definition.regions:
        yield member(name, "region", "", one)
    for name, one in definition.successors:
        yield member(name, "successor", "", one)


_TYPES = {
    "UnitAttr": "flag",
    "StringAttr": "string",
    "TensorType": "`tensor`",
    "DictionaryAttr": "dictionary",
    "DenseArrayBase": "array of integers",
    "IntegerAttr": "integer",
}
"""Words for builtin attributes and types."""


def _constraint(constraint: object) -> str:
    """A constraint of IRDL in words. Raises ValueError for one of a kind that no dialect has yet."""
    match constraint:
        case AnyAttr():
            return "any"
        case SymbolNameConstraint():
            return "symbol"
        case BaseAttr():
            return _class(constraint.attr)
        case EqAttrConstraint():
            return f"`{constraint.attr}`"
        case VarConstraint():
            return f"{_constraint(constraint.constraint)}, the same for all `{constraint.name}`"
        case RangeLengthConstraint():
            return _constraint(constraint.constraint)
        case RangeOf():
            return _constraint(constraint.constr)
        case MessageConstraint():
            return _constraint(constraint.constr)
        case AnyOf():
            return " or ".join(_constraint(one) for one in constraint.attr_constrs)
        case ArrayOfConstraint():
            return f"array of {_constraint(constraint.elem_range_constraint)}"
        case ParamAttrConstraint() if constraint.base_attr is SymbolRefAttr:
            return "reference to a symbol"
        case ParamAttrConstraint() if constraint.base_attr is IntegerAttr:
            return _constraint(constraint.param_constrs[1])
        case ParamAttrConstraint():
            return _class(constraint.base_attr)
        case _:
            raise ValueError(f"no words for the constraint {constraint}")


def _class(cls: type[Attribute]) -> str:
    words = _TYPES.get(cls.__name__)
    return words or f"`{'!' if issubclass(cls, TypeAttribute) else '#'}{cls.name}`"


def _trait(trait: OpTrait) -> str:
    match trait:
        case HasParent():
            return f"`HasParent` ({_names(trait.op_types)})"
        case SingleBlockImplicitTerminator():
            return f"`SingleBlockImplicitTerminator` ({_names([trait.op_type])})"
        case _ if type(trait).__module__.startswith(("et_ir.", "et_backends.")):
            text = first_sentence(inspect.getdoc(trait) or "")
            return text[:1].lower() + text[1:]
        case _:
            return f"`{type(trait).__name__}`"


def _names(ops: Sequence[type[Operation]]) -> str:
    return ", ".join(f"`{op.name}`" for op in ops)


def _nodes() -> Iterator[str]:
    """The section of the ops of nodes, which differ in their kinds alone."""
    some = next(iter(NODE_OPS.values()))
    yield from _operation(some, NodeOp)
    yield ""
    yield "An operand in brackets is optional."
    yield ""
    yield "| operation | operands | results | attributes |"
    yield "|---|---|---|---|"
    for kind, op in NODE_OPS.items():
        roles = roles_of(kind())
        given = {*roles.operands, *roles.results}
        operands = ", ".join(f"[{name}]" if name in roles.optional else name for name in roles.operands)
        fields = ", ".join(field.name for field in fields_of(kind) if field.name not in given)
        yield f"| `{op.name}` | {in_a_line(operands)} | {', '.join(roles.results)} | {fields} |"


def _tosa_operators() -> Iterator[str]:
    """The section of the ops of TOSA, whose tables are those of its specification."""
    ops = [op for op in Tosa.operations if issubclass(op, TosaOp)]
    some = next(op for op in ops if not fields_of(ATTRIBUTES[op.op_number()]))
    yield from _operation(some, TosaOp)
    yield ""
    yield "| operation | operands | attributes | element types of the first operand |"
    yield "|---|---|---|---|"
    for op in ops:
        number = op.op_number()
        names = ", ".join(OPERANDS[number]) + (" …" if number in VARIADIC else "")
        attributes = ", ".join(field.name for field in fields_of(ATTRIBUTES[number]))
        kinds = ", ".join(sorted(kind.name.lower() for kind in ELEMENT_TYPES.get(number, ()))) or "any"
        yield f"| `{op.name}` | {in_a_line(names)} | {attributes} | {kinds} |"


_FAMILY_SECTIONS = {
    "xnnpack": ("Nodes", "An operation for each kind of node", _nodes),
    "tosa": ("Operators", "An operation for each operator of TOSA", _tosa_operators),
}
"""Of dialects with operations of `FAMILIES`: the title of their section, a summary, and the section."""
