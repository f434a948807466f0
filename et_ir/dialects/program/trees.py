"""Compact notation of pytree specs for nested inputs and outputs.

Files hold torch's pytree specs as JSON, some eighty characters a node. `#program.tree<"((*, *), {mask: *})">` is the
same for tuples, lists and dicts with names as keys: `*` is a leaf. The attribute holds the JSON text, to the letter;
a text that the short form would not give back stays a string.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final, cast

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from et_ir.dialects.discardable import discardable

__all__ = ["IN_SPEC", "OUT_SPEC", "TreeAttr", "compact_tree", "expand_tree", "tree_attribute"]

_TOKEN = re.compile(r"\s*([A-Za-z_]\w*|[*()\[\]{},:])")
_NAME = re.compile(r"[A-Za-z_]\w*")
_TUPLE, _LIST, _DICT = "builtins.tuple", "builtins.list", "builtins.dict"


@irdl_attr_definition
class TreeAttr(Data[str]):
    """The nesting of inputs or outputs: a pytree spec of torch, whose JSON text is `data`.

    In the text `*` is a leaf of tuples, lists and dicts.

    ```mlir
    #program.tree<"((*, [*, *]), {mask: *})">
    ```
    """

    name = "program.tree"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> str:
        with parser.in_angle_brackets():
            position = parser.pos
            text = parser.parse_str_literal()
            try:
                return expand_tree(text)
            except ValueError as error:
                parser.raise_error(str(error), position, parser.pos)

    def print_parameter(self, printer: Printer) -> None:
        short = compact_tree(self.data)
        if short is None:
            raise ValueError(f"the tree {self.data} has no short form")
        with printer.in_angle_brackets():
            printer.print_string_literal(short)


IN_SPEC: Final = discardable("program.in_spec", TreeAttr, StringAttr)
"""The structure of a method's arguments."""
OUT_SPEC: Final = discardable("program.out_spec", TreeAttr, StringAttr)
"""The structure of what a method returns."""


def tree_attribute(text: str) -> TreeAttr | StringAttr:
    """The attribute of a spec's JSON text: a `TreeAttr` where that has a short form, else the text."""
    return StringAttr(text) if compact_tree(text) is None else TreeAttr(text)


def compact_tree(text: str) -> str | None:
    """The short form of a spec's JSON text; `None` if it has none that expands to the same text."""
    try:
        version, node = json.loads(text)
        short = _compact(node) if version == 1 else None
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return short if short is not None and expand_tree(short) == text else None


def _compact(node: dict[str, Any]) -> str | None:
    children = [_compact(child) for child in node["children_spec"]]
    if any(child is None for child in children):
        return None
    parts = cast("list[str]", children)
    match node["type"]:
        case None:
            return "*"
        case "builtins.tuple":
            return f"({', '.join(parts)})"
        case "builtins.list":
            return f"[{', '.join(parts)}]"
        case "builtins.dict":
            keys = json.loads(node["context"])
            if len(keys) != len(parts) or not all(isinstance(k, str) and _NAME.fullmatch(k) for k in keys):
                return None
            return f"{{{', '.join(f'{k}: {p}' for k, p in zip(keys, parts, strict=True))}}}"
        case _:
            return None


def expand_tree(short: str) -> str:
    """The JSON text of a short form. Raises `ValueError` where it is not one."""
    tokens: list[str] = []
    position = 0
    while position < len(short.rstrip()):
        match = _TOKEN.match(short, position)
        if match is None:
            raise ValueError(f"unexpected '{short[position]}' in the tree '{short}'")
        tokens.append(match[1])
        position = match.end()
    tokens.reverse()
    node = _expand(tokens, short)
    if tokens:
        raise ValueError(f"'{tokens[-1]}' follows the end of the tree '{short}'")
    return json.dumps([1, node])


def _expand(tokens: list[str], short: str) -> dict[str, Any]:
    """Take one node off the end of the reversed tokens."""

    def take(*expected: str) -> str:
        token = tokens.pop() if tokens else "its end"
        if expected and token not in expected:
            raise ValueError(f"expected {' or '.join(expected)} instead of {token} in the tree '{short}'")
        return token

    opening = take("*", "(", "[", "{")
    if opening == "*":
        return {"type": None, "context": None, "children_spec": []}
    closing = {"(": ")", "[": "]", "{": "}"}[opening]
    keys: list[str] = []
    children: list[dict[str, Any]] = []
    if tokens and tokens[-1] == closing:
        take(closing)
    else:
        while True:
            if opening == "{":
                keys.append(take())
                take(":")
            children.append(_expand(tokens, short))
            if take(",", closing) == closing:
                break
    kind = {"(": _TUPLE, "[": _LIST, "{": _DICT}[opening]
    return {
        "type": kind,
        "context": json.dumps(keys) if opening == "{" else "null",
        "children_spec": children,
    }
