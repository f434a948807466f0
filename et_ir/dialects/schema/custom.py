"""Op classes of operators that are in no registry: made from their schemas, when a program holds them."""

from __future__ import annotations

from functools import cache
from typing import Final, TypeVar, cast

from et_ir.dialects.schema.operator import PURE, RANDOM, OperatorOp
from et_ir.dialects.schema.schema import parse_schema

__all__ = ["CUSTOM", "custom_class", "is_custom", "namespace_of", "without_namespace"]

CUSTOM: Final = "custom"
"""The tag of these classes."""

_Op = TypeVar("_Op", bound=OperatorOp)


def namespace_of(schema: str) -> str:
    """The namespace that a schema text names, empty if none: `mylib` of `mylib::foo(Tensor x) -> Tensor`."""
    head, separator, _ = schema.partition("(")[0].partition("::")
    return head.strip() if separator else ""


def without_namespace(schema: str) -> str:
    """A schema text without its namespace."""
    namespace = namespace_of(schema)
    return schema.strip().removeprefix(f"{namespace}::") if namespace else schema.strip()


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
    text = without_namespace(schema)
    name = f"{namespace_of(schema)}.{parse_schema(text).qualified_name}"
    return type(
        f"{name.replace('.', '_')}_Op",
        (base,),
        {
            "__doc__": f"The operator {schema}",
            "name": f"{dialect}.{name}",
            "schema_text": text,
            "out_schema": without_namespace(out_schema),
            "tags": frozenset({CUSTOM}),
            "traits": RANDOM if random else PURE,
        },
    )


def is_custom(op: type[OperatorOp]) -> bool:
    """Whether an op class is that of an operator which no registry knows."""
    return CUSTOM in op.tags
