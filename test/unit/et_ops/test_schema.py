"""Operator schemas: every text of the registry and of the grammar reads as what it says."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from et_ops import MISSING, Arg, ArgType, Schema, parse_schema
from et_ops.library import SNAPSHOT
from et_ops.schema import scalar_types

TEXTS = [line.split("\t")[0] for line in SNAPSHOT.read_text(encoding="utf-8").splitlines()]


def render_literal(value: Any) -> str:
    """A default as torch prints it."""
    if isinstance(value, tuple):
        return "[" + ", ".join(map(render_literal, value)) + "]"
    if isinstance(value, float):
        return f"{value:g}" if "." in f"{value:g}" or "e" in f"{value:g}" else f"{value:g}."
    return f'"{value}"' if isinstance(value, str) else str(value)


def render_type(type: ArgType, alias: str | None) -> str:
    base, _, suffix = str(type).partition("[") if type.is_list else (str(type), "", "")
    if alias is None:
        return str(type)
    if type.is_list:
        return f"{base}({alias})[{suffix}"
    return f"{base.rstrip('?')}({alias}){'?' if type.optional else ''}"


def render(schema: Schema) -> str:
    """The text of a schema: what `parse_schema` is the inverse of."""
    parts: list[str] = []
    for arg in schema.args:
        if arg.kwarg_only and "*" not in parts:
            parts.append("*")
        default = "" if arg.default is MISSING else f"={render_literal(arg.default)}"
        parts.append(f"{render_type(arg.type, arg.alias)} {arg.name}{default}")
    returns = [render_type(r.type, r.alias) for r in schema.returns]
    tail = returns[0] if len(returns) == 1 else "(" + ", ".join(returns) + ")"
    return f"{schema.qualified_name}({', '.join(parts)}) -> {tail}"


names = st.from_regex(r"[a-z][a-z0-9_]{0,6}", fullmatch=True)
SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "int": st.integers(-9, 9),
    "float": st.sampled_from([0.5, 1.25, -2.5, 1e-05]),
    "bool": st.booleans(),
    "str": st.text("abc,()= ->", max_size=5),
    "Scalar": st.integers(0, 9),
}


@st.composite
def arguments(draw: st.DrawFn, name: str) -> Arg:
    base = draw(st.sampled_from(["Tensor", "SymInt", "ScalarType", *SCALARS]))
    is_list = base in ("Tensor", "int", "float", "SymInt") and draw(st.booleans())
    optional = draw(st.booleans())
    type = ArgType(
        base,
        is_list=is_list,
        list_size=draw(st.sampled_from([None, 2])) if is_list and base != "Tensor" else None,
        optional=optional and not (is_list and base == "Tensor"),
        element_optional=is_list and base == "Tensor" and optional,
    )
    default: Any = MISSING
    if type.optional and draw(st.booleans()):
        default = None
    elif base in SCALARS and draw(st.booleans()):
        default = draw(st.lists(SCALARS[base], max_size=3).map(tuple)) if is_list else draw(SCALARS[base])
        if is_list and type.list_size is not None:
            default = draw(st.tuples(SCALARS[base], SCALARS[base]))
    alias = (
        draw(st.sampled_from([None, "a", "a!"])) if base == "Tensor" and not type.element_optional else None
    )
    return Arg(name, type, default, alias=alias)


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    labels = draw(st.lists(names, max_size=5, unique=True))
    args = [draw(arguments(label)) for label in labels]
    split = draw(st.integers(0, len(args)))
    args = [Arg(a.name, a.type, a.default, i >= split, a.alias) for i, a in enumerate(args)]
    returns = [
        Arg("result" if i == 0 else f"result{i}", ArgType("Tensor", is_list=draw(st.booleans())))
        for i in range(draw(st.integers(0, 3)))
    ]
    return Schema(draw(names), draw(st.just("") | names), tuple(args), tuple(returns), "")


@given(schemas())
def test_text_and_schema_are_inverse(schema: Schema) -> None:
    text = render(schema)
    found = parse_schema(text)
    assert found.text == text
    assert (found.name, found.overload, found.args, found.returns) == (
        schema.name,
        schema.overload,
        schema.args,
        schema.returns,
    )


@pytest.mark.parametrize("letter", sorted({text.lstrip("_")[0] for text in TEXTS}))
def test_registry_is_read(letter: str) -> None:
    for text in TEXTS:
        if text.lstrip("_").startswith(letter):
            schema = parse_schema(text)
            assert text.startswith(f"{schema.qualified_name}(")
            assert (
                len(schema.by_name) == len(schema.args) == len(schema.tensor_args) + len(schema.literal_args)
            )
            assert len({r.name for r in schema.returns}) == len(schema.returns)


def test_parts_of_an_argument() -> None:
    schema = parse_schema(
        "foo.bar(Tensor(a -> *) self, Tensor?[] indices, SymInt[2]? size=None, float[] scales=[1., 2.5], *, "
        'str mode="a, (b)=", Scalar alpha=1, int[2] stride=1, '
        "ScalarType dtype=6, MemoryFormat format=0, Tensor(b!) out) "
        "-> (Tensor(a)[], Tensor values)"
    )
    assert schema.qualified_name == "foo.bar"
    self, indices, size, scales, mode, alpha, stride, dtype, memory_format, out = schema.args
    assert (self.alias, self.is_mutated, out.is_mutated) == ("a -> *", False, True)
    assert (indices.type.is_list, indices.type.element_optional, indices.type.optional) == (True, True, False)
    assert (size.type.list_size, size.type.optional, size.default) == (2, True, None)
    assert scales.default == (1.0, 2.5)
    assert (mode.default, mode.kwarg_only, scales.kwarg_only) == ("a, (b)=", True, False)
    assert (alpha.default, stride.default) == (1, (1, 1))
    assert (dtype.default, memory_format.default) == (scalar_types[6], "contiguous_format")
    assert schema.out_args == (out,)
    assert [r.name for r in schema.returns] == ["result", "values"]
    assert schema.returns[0].type.is_list
    assert [a.name for a in schema.tensor_args] == ["self", "indices", "out"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("foo(Tensor self -> Tensor", "unbalanced parentheses"),
        ("foo(Tensor self)", "no returns"),
        ("foo bar(Tensor self) -> Tensor", "cannot read the operator name"),
        ("foo(Blob self) -> Tensor", "Blob"),
    ],
)
def test_other_texts_are_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_schema(text)


def test_types_that_may_be_known_at_run_time_only() -> None:
    assert {
        base
        for base in ("int", "SymInt", "Scalar", "float", "bool", "SymBool")
        if ArgType(base).may_be_symbolic
    } == {
        "SymInt",
        "Scalar",
        "SymBool",
    }
