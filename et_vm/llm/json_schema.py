"""JSON schemas as regular expressions of the texts that match them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from et_schema.errors import InputError
from et_vm.llm.regular import LONGEST

__all__ = ["expression_of"]

_SPACE: Final = " ?"
_CHARACTER: Final = r'([^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})'
_INTEGER: Final = "-?(0|[1-9][0-9]{0,17})"
_NUMBER: Final = _INTEGER + r"(\.[0-9]{1,17})?([eE][+-]?[0-9]{1,3})?"
_MOST_WORK: Final = 1 << 24
"""Characters that the expressions of all parts may have in all, those that are dropped included."""
_KNOWN: Final = frozenset(
    {
        *("type", "enum", "const", "anyOf", "oneOf", "$ref", "properties", "required", "items", "minItems"),
        *("maxItems", "minLength", "maxLength", "pattern", "additionalProperties"),
        *("title", "description", "default", "examples", "$defs", "definitions", "$schema", "$id"),
    }
)


def expression_of(schema: object) -> str:
    """The expression, for `Automaton`.

    Objects have their properties in the order of the schema and no others; those that are not required may be absent.
    One space may follow a colon and a comma. Raises InputError for keywords that say more than that or have values of
    another kind, and for schemas that refer to themselves or are too large.
    """
    try:
        return _Schemas(schema).expression(schema, "#", ())
    except RecursionError:
        raise InputError("JSON schema: it is nested too deeply") from None


class _Schemas:
    def __init__(self, root: Any) -> None:
        self._root = root
        self._work = 0

    def expression(self, given: Any, where: str, within: tuple[str, ...]) -> str:
        found = self._expression(given, where, within)
        # Each part costs more than its characters.
        self._work += len(found) + 100
        if len(found) > LONGEST or self._work > _MOST_WORK:
            raise InputError("JSON schema: it is too large, or its arrays are nested too deeply", where=where)
        return found

    def _expression(self, given: Any, where: str, within: tuple[str, ...]) -> str:
        if not isinstance(given, Mapping):
            raise InputError("JSON schema: expected an object that says the type", where=where)
        schema = cast("Mapping[str, Any]", given)
        unknown = [str(key) for key in schema if key not in _KNOWN]
        if unknown:
            raise InputError(f"JSON schema: '{unknown[0]}' is not supported", where=where)
        if "$ref" in schema:
            return self._referred(str(schema["$ref"]), where, within)
        if "const" in schema:
            return _literal(schema["const"], where)
        if "enum" in schema:
            return _any_of([_literal(one, where) for one in _listed(schema, "enum", where)], where)
        for key in ("anyOf", "oneOf"):
            if key in schema:
                parts = [
                    self.expression(one, f"{where}/{key}/{number}", within)
                    for number, one in enumerate(_listed(schema, key, where))
                ]
                return _any_of(parts, where)
        if "type" not in schema:
            raise InputError(
                "JSON schema: expected one of type, enum, const, anyOf, oneOf and $ref", where=where
            )
        kind: Any = schema["type"]
        if isinstance(kind, list):
            kinds = cast("list[Any]", kind)
            parts = [self.expression({**schema, "type": one}, where, within) for one in kinds]
            return _any_of(parts, where)
        match kind:
            case "null":
                return "null"
            case "boolean":
                return "(true|false)"
            case "integer":
                return _INTEGER
            case "number":
                return _NUMBER
            case "string":
                return self._string(schema, where)
            case "array":
                return self._array(schema, where, within)
            case "object":
                return self._object(schema, where, within)
            case _:
                raise InputError(f"JSON schema: {kind!r} is not a type", where=where)

    def _referred(self, reference: str, where: str, within: tuple[str, ...]) -> str:
        if reference in within:
            raise InputError(f"JSON schema: {reference} refers to itself", where=where)
        if not reference.startswith("#/"):
            raise InputError(f"JSON schema: {reference} is in another document", where=where)
        found: Any = self._root
        for part in reference[2:].split("/"):
            if not isinstance(found, Mapping) or part not in found:
                raise InputError(f"JSON schema: there is no {reference}", where=where)
            found = cast("Mapping[str, Any]", found)[part]
        return self.expression(found, reference, (*within, reference))

    def _string(self, schema: Mapping[str, Any], where: str) -> str:
        if "pattern" in schema:
            if "minLength" in schema or "maxLength" in schema:
                raise InputError("JSON schema: 'pattern' beside a length is not supported", where=where)
            return f'"({str(schema["pattern"]).removeprefix("^").removesuffix("$")})"'
        return f'"{_CHARACTER}{_repeated(schema, "Length", where)}"'

    def _array(self, schema: Mapping[str, Any], where: str, within: tuple[str, ...]) -> str:
        if "items" not in schema:
            raise InputError("JSON schema: an array without 'items'", where=where)
        item = self.expression(schema["items"], f"{where}/items", within)
        least, most = _limits(schema, "Items", where)
        if most == 0:
            return r"\[\]"
        rest = "" if most is None else str(most - 1)
        several = f"({item})(,{_SPACE}({item})){{{max(least - 1, 0)},{rest}}}"
        return rf"\[{several}\]" if least else rf"\[({several})?\]"

    def _object(self, schema: Mapping[str, Any], where: str, within: tuple[str, ...]) -> str:
        given: Any = schema.get("properties", {})
        if not isinstance(given, Mapping):
            raise InputError("JSON schema: 'properties' is no object", where=where)
        properties = cast("Mapping[str, Any]", given)
        if schema.get("additionalProperties") not in (None, False):
            raise InputError("JSON schema: 'additionalProperties' is not supported", where=where)
        required = _listed(schema, "required", where)
        if any(name not in properties for name in map(str, required)):
            raise InputError("JSON schema: 'required' names what 'properties' lacks", where=where)
        members = [
            (
                f"{_literal(name, where)}:{_SPACE}({self.expression(one, f'{where}/properties/{name}', within)})",
                name in required,
            )
            for name, one in properties.items()
        ]
        return rf"\{{{_members(members)}\}}"


def _members(members: list[tuple[str, bool]]) -> str:
    """Members in order, with commas between those that are there."""
    first = next((number for number, (_, is_required) in enumerate(members) if is_required), len(members))
    before = _some([member for member, _ in members[:first]]) if first else ""
    if first == len(members):
        return f"({before})?" if before else ""
    start = f"({before},{_SPACE})?{members[first][0]}" if before else members[first][0]
    following = (
        f"(,{_SPACE}{member}){'' if is_required else '?'}" for member, is_required in members[first + 1 :]
    )
    return f"{start}{''.join(following)}"


def _some(members: list[str]) -> str:
    """One or more of members in order: of the first half with any of the second, or of the second alone.

    Each member is there once for each halving, not once for each that may come first.
    """
    if len(members) == 1:
        return members[0]
    half = len(members) // 2
    rest = "".join(f"(,{_SPACE}{member})?" for member in members[half:])
    return f"({_some(members[:half])}{rest}|{_some(members[half:])})"


def _any_of(parts: list[str], where: str) -> str:
    if not parts:
        raise InputError("JSON schema: nothing to choose from", where=where)
    return f"({'|'.join(parts)})"


def _listed(schema: Mapping[str, Any], key: str, where: str) -> list[Any]:
    """The list that a keyword has."""
    found: Any = schema.get(key, [])
    if not isinstance(found, list | tuple):
        raise InputError(f"JSON schema: '{key}' is no list", where=where)
    return list(cast("Sequence[Any]", found))


def _literal(value: Any, where: str) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        text.encode()
    except UnicodeEncodeError:
        raise InputError("JSON schema: a value has a lone surrogate", where=where) from None
    except ValueError:
        raise InputError(
            "JSON schema: a number is NaN or infinite, which JSON has none of", where=where
        ) from None
    return re.sub(r"([^\w\s\"',:])", r"\\\1", text)


def _limits(schema: Mapping[str, Any], kind: str, where: str) -> tuple[int, int | None]:
    least, most = schema.get(f"min{kind}", 0), schema.get(f"max{kind}")
    if (
        not isinstance(least, int)
        or least < 0
        or not (most is None or (isinstance(most, int) and most >= least))
    ):
        raise InputError(f"JSON schema: min{kind} and max{kind} are not numbers in order", where=where)
    return least, most


def _repeated(schema: Mapping[str, Any], kind: str, where: str) -> str:
    least, most = _limits(schema, kind, where)
    return f"{{{least},{'' if most is None else most}}}"
