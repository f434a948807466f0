"""Op classes of operators that are in no registry: made from their schemas, when a program holds them."""

from __future__ import annotations

from functools import cache
from typing import Final, TypeVar, cast

from et_ir.dialects.schema.classes import operator_class
from et_ir.dialects.schema.operator import OperatorOp
from et_ops import Operator, parse_schema
from et_ops.schema import namespace_of, without_namespace

__all__ = ["CUSTOM", "custom_class", "is_custom"]

CUSTOM: Final = "custom"
"""The tag of these operators."""

_Op = TypeVar("_Op", bound=OperatorOp)


def custom_class(base: type[_Op], dialect: str, schema: str, out_schema: str, *, random: bool) -> type[_Op]:
    """The op class of an operator in a dialect whose ops have the base class `base`; the same for the same arguments.

    Both schemas name the namespace; that of the out variant may be empty. Raises `ValueError` for a schema that cannot
    be read.
    """
    return cast("type[_Op]", _made(base, dialect, schema, out_schema, random))


@cache
def _made(
    base: type[OperatorOp], dialect: str, schema: str, out_schema: str, random: bool
) -> type[OperatorOp]:
    tags = frozenset({CUSTOM, "nondeterministic_seeded"} if random else {CUSTOM})
    operator = Operator(namespace_of(schema), without_namespace(schema), tags, without_namespace(out_schema))
    name = f"{operator.namespace}.{parse_schema(operator.schema_text).qualified_name}"
    documentation = f"The operator {schema}"
    return operator_class(
        base, dialect, operator, documentation, f"{name.replace('.', '_')}_Op", base.__module__
    )


def is_custom(op: type[OperatorOp]) -> bool:
    """Whether an op class is that of an operator which no registry knows."""
    return CUSTOM in op.operator.tags
