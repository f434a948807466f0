"""JSON schemas as expressions: what they match is what the schema allows."""

from __future__ import annotations

import json
from typing import Any

import pytest

from et_schema.errors import InputError
from et_vm.llm import Constraint

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 8},
        "age": {"type": "integer"},
        "tags": {"type": "array", "items": {"enum": ["a", "b.c"]}, "maxItems": 2},
        "spouse": {"$ref": "#/$defs/name"},
    },
    "required": ["age"],
    "$defs": {"name": {"type": ["string", "null"]}},
}


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "integer"}, [0, -5, 120], [1.5, "1", None]),
        ({"type": "number"}, [0, -1.5, 1e30, 12], ["x", True]),
        ({"type": "boolean"}, [True, False], [0, None]),
        ({"const": {"a": [1, "x+"]}}, [], [{"a": 1}]),
        ({"enum": [1, "two", None]}, [1, "two", None], [2, "three"]),
        ({"type": "string", "minLength": 2, "maxLength": 3}, ["ab", "äö", 'a"b', "a\\n"], ["a", "abcd", 1]),
        ({"type": "string", "pattern": "^[A-Z]{2}$"}, ["AB"], ["A", "ab", "ABC"]),
        ({"type": "array", "items": {"type": "integer"}}, [[], [1], [1, 2, 3]], [["x"], 1]),
        (
            {"type": "array", "items": {"type": "null"}, "minItems": 2, "maxItems": 2},
            [[None] * 2],
            [[], [None]],
        ),
        ({"type": "array", "items": {"type": "null"}, "maxItems": 0}, [[]], [[None]]),
        ({"anyOf": [{"type": "null"}, {"type": "integer"}]}, [None, 3], ["x"]),
        ({"type": "object", "properties": {}}, [{}], [{"a": 1}]),
        (
            {"type": "object", "properties": {"a": {"const": 1}, "b": {"const": 2}, "c": {"const": 3}}},
            [{}, {"a": 1}, {"b": 2}, {"c": 3}, {"a": 1, "c": 3}, {"b": 2, "c": 3}, {"a": 1, "b": 2, "c": 3}],
            [{"b": 2, "a": 1}, {"d": 1}],
        ),
        (
            PERSON,
            [
                {"age": 3},
                {"name": "Ann", "age": 3, "tags": ["a", "b.c"], "spouse": None},
                {"age": 1, "spouse": "x"},
            ],
            [{}, {"name": "Ann"}, {"age": 1, "tags": ["c"]}, {"age": 1, "tags": ["a"] * 3}, {"age": "1"}],
        ),
    ],
)
def test_texts(schema: dict[str, Any], good: list[Any], bad: list[Any]) -> None:
    constraint = Constraint.of_schema(json.dumps(schema))
    for value in good:
        for separators in ((",", ":"), (", ", ": ")):
            assert constraint.matches(json.dumps(value, separators=separators, ensure_ascii=False)), value
    for value in bad:
        assert not constraint.matches(json.dumps(value)), value


def test_constants_with_signs_of_expressions() -> None:
    constraint = Constraint.of_schema({"const": "a.b*(c)"})
    assert constraint.matches('"a.b*(c)"')
    assert not constraint.matches('"axb*(c)"')


def test_many_properties_that_may_be_absent() -> None:
    """The expression grows little faster than their number."""
    names = [f"p{number}" for number in range(60)]
    constraint = Constraint.of_schema(
        {"type": "object", "properties": {name: {"type": "boolean"} for name in names}, "required": ["p30"]}
    )
    assert len(constraint.expression) < 10_000
    assert constraint.matches(json.dumps(dict.fromkeys(names, True)))
    assert constraint.matches(json.dumps({"p3": True, "p30": False, "p59": True}))
    assert not constraint.matches(json.dumps({"p3": True, "p59": True}))


def test_objects_of_properties_that_may_be_absent() -> None:
    """The expression of an object is not of the square of their number: objects in objects would multiply it."""
    names = [f"p{number}" for number in range(20)]
    inner = {"type": "object", "properties": {name: {"type": "boolean"} for name in names}}
    constraint = Constraint.of_schema({"type": "object", "properties": dict.fromkeys(names, inner)})
    value = {"p3": {}, "p4": {"p0": True, "p19": False}, "p19": {"p7": True}}
    assert constraint.matches(json.dumps(value))
    assert not constraint.matches(json.dumps({"p4": value["p19"], "p3": {}}))


def test_tuples_are_lists() -> None:
    """As in json.dumps: schemas of Python may have them."""
    schema = {"type": "object", "properties": {"a": {"enum": (1, 2)}}, "required": ("a",)}
    assert Constraint.of_schema(schema).matches('{"a": 2}')


def _nested(inner: dict[str, Any], key: str, times: int) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "null"}
    for _ in range(times):
        found = {**inner, key: found if key == "items" else [found]}
    return found


def _doubling(levels: int) -> dict[str, Any]:
    """Arrays of no items, each of which refers twice to the next: a short expression, which takes long to make."""
    pair = {"type": "array", "maxItems": 0}
    definitions: dict[str, Any] = {"d0": {"type": "null"}}
    for level in range(1, levels):
        refers = {"$ref": f"#/$defs/d{level - 1}"}
        definitions[f"d{level}"] = {**pair, "items": {"anyOf": [refers, refers]}}
    return {"$ref": f"#/$defs/d{levels - 1}", "$defs": definitions}


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("{", "Expecting"),
        ("[]", "expected an object"),
        ('"x"', "expected an object"),
        ("null", "expected an object"),
        (_doubling(60), "nested too deeply"),
        ("[" * 100_000, "JSON schema: maximum recursion"),
        ({"type": "set"}, "'set' is not a type"),
        ({}, "expected one of type, enum"),
        ({"const": float("inf")}, "NaN or infinite"),
        ('{"enum": [1, NaN]}', "NaN or infinite"),
        ({"const": "\ud800"}, "lone surrogate"),
        ({"type": "integer", "minimum": 3}, "'minimum' is not supported"),
        ({"type": "array"}, "without 'items'"),
        ({"type": "object", "additionalProperties": True}, "not supported"),
        ({"type": "object", "required": ["a"]}, "'required' names"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}, "refers to itself"),
        ({"$ref": "#/$defs/a"}, "there is no"),
        ({"$ref": "other.json"}, "another document"),
        ({"type": "string", "minLength": 3, "maxLength": 1}, "not numbers in order"),
        ({"anyOf": []}, "nothing to choose"),
        ({"enum": 3}, "'enum' is no list"),
        ({"anyOf": {"type": "null"}}, "'anyOf' is no list"),
        ({"type": "object", "properties": []}, "'properties' is no object"),
        ({"type": "object", "properties": {"a": {"type": "null"}}, "required": "a"}, "'required' is no list"),
        (_nested({"type": "array"}, "items", 40), "nested too deeply"),
        (_nested({"anyOf": []}, "anyOf", 2000), "nested too deeply"),
    ],
)
def test_refusals(schema: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Constraint.of_schema(schema)
