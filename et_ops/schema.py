"""Operator schemas: the text that `str(torch_op._schema)` prints, as data.

The grammar is the one of PyTorch's native functions:

    add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor

Only the text is read, so nothing here needs torch.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Final, cast

from et_ops.inference.meta import UNKNOWN

__all__ = [
    "DYNAMIC",
    "MISSING",
    "Arg",
    "ArgType",
    "Literal",
    "Schema",
    "namespace_of",
    "parse_schema",
    "without_namespace",
]

type_names = frozenset(
    {
        "Tensor", "int", "SymInt", "Scalar", "float", "bool", "str", "ScalarType", "Layout", "Device",
        "MemoryFormat", "Generator", "SymBool", "SymFloat", "Dimname", "Stream", "Storage",
    }
)  # fmt: skip

# Torch prints defaults of these two types as the numbers of its enumerations.
scalar_types = {
    0: "ui8", 1: "i8", 2: "i16", 3: "i32", 4: "i64", 5: "f16", 6: "f32", 7: "f64",
    8: "complex<f16>", 9: "complex<f32>", 10: "complex<f64>", 11: "i1", 15: "bf16",
}  # fmt: skip
memory_formats = ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")

Literal = int | float | bool | str | None | tuple["Literal", ...]


DYNAMIC: Final = UNKNOWN
"""Stands, among sizes and literals, for a number that is known at run time only."""


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing()
"""The default of an argument that has none (`None` is a default that schemas do use)."""


@dataclass(frozen=True, slots=True)
class ArgType:
    """The type of an argument or return: a base type, perhaps in a list, perhaps optional."""

    base: str
    is_list: bool = False
    list_size: int | None = None
    optional: bool = False
    element_optional: bool = False

    @property
    def is_tensor(self) -> bool:
        return self.base == "Tensor"

    @property
    def may_be_symbolic(self) -> bool:
        """Whether a value of this type may be known at run time only, and then be an SSA value."""
        return self.base in ("SymInt", "Scalar", "SymFloat", "SymBool")

    def __str__(self) -> str:
        text = self.base + ("?" if self.element_optional else "")
        if self.is_list:
            text += f"[{'' if self.list_size is None else self.list_size}]"
        return text + ("?" if self.optional else "")


@dataclass(frozen=True, slots=True)
class Arg:
    """One argument or return of a schema. `alias` is the annotation in parentheses, such as `a!`, if any."""

    name: str
    type: ArgType
    default: Literal | _Missing = MISSING
    kwarg_only: bool = False
    alias: str | None = None

    @property
    def is_mutated(self) -> bool:
        return self.alias is not None and "!" in self.alias


@dataclass(frozen=True)
class Schema:
    """A parsed schema. `name` has no namespace; `overload` is empty for the default overload."""

    name: str
    overload: str
    args: tuple[Arg, ...]
    returns: tuple[Arg, ...]
    text: str

    @cached_property
    def by_name(self) -> dict[str, Arg]:
        return {arg.name: arg for arg in self.args}

    @cached_property
    def tensor_args(self) -> tuple[Arg, ...]:
        return tuple(arg for arg in self.args if arg.type.is_tensor)

    @cached_property
    def literal_args(self) -> tuple[Arg, ...]:
        return tuple(arg for arg in self.args if not arg.type.is_tensor)

    @cached_property
    def out_args(self) -> tuple[Arg, ...]:
        """The arguments that an out variant writes to: keyword-only, mutated tensors."""
        return tuple(arg for arg in self.args if arg.is_mutated and arg.kwarg_only and arg.type.is_tensor)

    @cached_property
    def in_args(self) -> tuple[Arg, ...]:
        """The arguments that are not `out_args`."""
        return tuple(arg for arg in self.args if arg not in self.out_args)

    @cached_property
    def qualified_name(self) -> str:
        """`name.overload`, or `name` alone for the default overload."""
        return f"{self.name}.{self.overload}" if self.overload else self.name


_ARG = re.compile(r"^(?P<type>[A-Za-z]+)(?:\((?P<alias>[^)]*)\))?(?P<suffix>[\[\]0-9?]*)(?P<alias_ret>)$")
_SUFFIX = re.compile(r"^(?P<eopt>\?)?(?:\[(?P<size>\d*)\])?(?P<opt>\?)?$")
_HEAD = re.compile(r"^(?:(?P<ns>\w+)::)?(?P<name>\w+)(?:\.(?P<overload>\w+))?$")


def _split(text: str) -> list[str]:
    """Split at top-level commas."""
    parts: list[str] = []
    depth, start, quoted = 0, 0, False
    for i, char in enumerate(text):
        if char == '"':
            quoted = not quoted
        elif quoted:
            continue
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    last = text[start:].strip()
    return [*parts, last] if last else parts


def _parse_type(text: str) -> tuple[ArgType, str | None]:
    match = _ARG.match(text)
    if match is None:
        # Torch writes the alias of a list after its element type, and that of an optional before the `?`.
        raise ValueError(f"cannot read the schema type '{text}'")
    base, alias = match["type"], match["alias"]
    suffix = _SUFFIX.match(match["suffix"])
    if suffix is None or base not in type_names:
        raise ValueError(f"cannot read the schema type '{text}'")
    is_list = suffix["size"] is not None
    first, second = suffix["eopt"] is not None, suffix["opt"] is not None
    return (
        ArgType(
            base,
            is_list,
            int(suffix["size"]) if suffix["size"] else None,
            optional=second if is_list else (first or second),
            element_optional=first and is_list,
        ),
        alias,
    )


def _parse_default(text: str, type: ArgType) -> Literal:
    if text in ("contiguous_format", "preserve_format", "channels_last", "strided", "Mean", "Sum"):
        return text
    value: Literal = ast.literal_eval(text)
    if type.base == "MemoryFormat" and isinstance(value, int):
        return memory_formats[value]
    if type.base == "ScalarType" and isinstance(value, int):
        return scalar_types[value]
    if isinstance(value, list):
        return tuple(cast("list[Literal]", value))
    if type.is_list and value is not None:
        return (value,) * (type.list_size or 1)
    if type.base == "float" and isinstance(value, int):
        return float(value)
    return value


def _parse_arg(text: str, kwarg_only: bool) -> Arg:
    head, equals, default = text.partition("=")
    type_text, _, name = head.strip().rpartition(" ")
    type, alias = _parse_type(type_text)
    return Arg(name, type, _parse_default(default.strip(), type) if equals else MISSING, kwarg_only, alias)


def _parse_return(text: str, index: int) -> Arg:
    """Returns are a type, and sometimes a name after it."""
    type_text, _, name = text.rpartition(" ")
    if type_text and re.fullmatch(r"\w+", name) and not type_text.endswith("->"):
        type, alias = _parse_type(type_text)
        return Arg(name, type, alias=alias)
    type, alias = _parse_type(text)
    return Arg(f"result{index}" if index else "result", type, alias=alias)


def _closing(text: str, open_: int) -> int:
    """Position of the matching closing parenthesis. Raises `ValueError` if it is not."""
    depth, quoted = 0, False
    for at in range(open_, len(text)):
        if text[at] == '"':
            quoted = not quoted
        elif not quoted:
            depth += {"(": 1, ")": -1}.get(text[at], 0)
            if depth == 0:
                return at
    raise ValueError(f"unbalanced parentheses in schema '{text}'")


@cache
def parse_schema(text: str) -> Schema:
    """Parse a schema text. Raises `ValueError` where the text is not one that this grammar covers."""
    open_ = text.index("(")
    close = _closing(text, open_)
    head = _HEAD.match(text[:open_].strip())
    if head is None:
        raise ValueError(f"cannot read the operator name of schema '{text}'")
    args: list[Arg] = []
    kwarg_only = False
    for part in _split(text[open_ + 1 : close]):
        if part == "*":
            kwarg_only = True
        else:
            args.append(_parse_arg(part, kwarg_only))
    _, arrow, tail = text[close + 1 :].partition("->")
    tail = tail.strip()
    if not arrow:
        raise ValueError(f"schema '{text}' has no returns")
    if tail.startswith("(") and tail.endswith(")"):
        tail = tail[1:-1]
    returns = tuple(_parse_return(part, i) for i, part in enumerate(_split(tail)))
    return Schema(head["name"], head["overload"] or "", tuple(args), returns, text)


def namespace_of(text: str) -> str:
    """The namespace that a schema text names, empty if none: `mylib` of `mylib::foo(Tensor x) -> Tensor`."""
    head, separator, _ = text.partition("(")[0].partition("::")
    return head.strip() if separator else ""


def without_namespace(text: str) -> str:
    """A schema text without its namespace."""
    namespace = namespace_of(text)
    return text.strip().removeprefix(f"{namespace}::") if namespace else text.strip()
