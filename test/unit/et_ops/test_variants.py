"""Out variants of schemas, and the text of missing ones."""

from __future__ import annotations

import pytest

from et_ops import parse_schema
from et_ops.variants import functional_problem, out_variant_definition, out_variant_problem


@pytest.mark.parametrize(
    ("functional", "out"),
    [
        ("f(Tensor x) -> Tensor", "f.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)"),
        ("f(Tensor x) -> Tensor", "f_out(Tensor x, *, Tensor(a!) result) -> ()"),
        ("f(Tensor x, int n=2) -> Tensor", "f.out(Tensor x, int n, *, Tensor(a!) out) -> Tensor(a!)"),
        ("f(*, int n) -> Tensor", "f.out(*, int n, Tensor(a!) out) -> Tensor(a!)"),
        ("f(Tensor x) -> Tensor[]", "f.out(Tensor x, *, Tensor(a!)[] out) -> ()"),
        (
            "f(Tensor? x, Tensor?[] y) -> (Tensor, Tensor)",
            "f.out(Tensor? x, Tensor?[] y, *, Tensor(a!) a, Tensor(b!) b) -> (Tensor(a!), Tensor(b!))",
        ),
    ],
)
def test_out_variants(functional: str, out: str):
    assert out_variant_problem(parse_schema(functional), parse_schema(out)) is None


@pytest.mark.parametrize(
    ("out", "problem"),
    [
        ("f.out(Tensor x, float n) -> Tensor", "it writes to no argument"),
        ("f.out(Tensor x, int n, *, Tensor(a!) out) -> ()", "its argument 'int n' is 'float n' there"),
        ("f.out(Tensor y, float n, *, Tensor(a!) out) -> ()", "its argument 'Tensor y' is 'Tensor x' there"),
        ("f.out(Tensor x, *, Tensor(a!) out) -> ()", "it takes 1 arguments beside its outputs, not 2"),
        ("f_(Tensor(a!) x, float n) -> ()", "'x' must be keyword-only"),
        ("f.out(Tensor x, float n, *, Tensor(a!) a, Tensor(b!) b) -> ()", "it writes Tensor, Tensor where"),
        (
            "f.out(Tensor x, float n, *, Tensor(a!)[] a) -> ()",
            "it writes Tensor[] where the results are Tensor",
        ),
    ],
)
def test_what_is_none(out: str, problem: str):
    found = out_variant_problem(parse_schema("f(Tensor x, float n) -> Tensor"), parse_schema(out))
    assert found is not None
    assert found.startswith(problem)


@pytest.mark.parametrize(
    ("schema", "definition"),
    [
        ("f(Tensor x) -> Tensor", '"ns::f.out", "(Tensor x, *, Tensor(a!) out) -> Tensor(a!)"'),
        ("f() -> Tensor", '"ns::f.out", "(*, Tensor(a!) out) -> Tensor(a!)"'),
        (
            "f.int(int n, *, int m=(1)) -> Tensor",
            '"ns::f.int_out", "(int n, *, int m=(1), Tensor(a!) out) -> Tensor(a!)"',
        ),
        (
            "f(Tensor out) -> (Tensor, Tensor y)",
            '"ns::f.out", "(Tensor out, *, Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))"',
        ),
        ("f(Tensor out) -> Tensor", '"ns::f.out", "(Tensor out, *, Tensor(a!) out_) -> Tensor(a!)"'),
        ("f(Tensor x) -> Tensor[]", '"ns::f.out", "(Tensor x, *, Tensor(a!)[] out) -> ()"'),
        (
            'f(Tensor x, str s="->(") -> Tensor',
            '"ns::f.out", "(Tensor x, str s="->(", *, Tensor(a!) out) -> Tensor(a!)"',
        ),
    ],
)
def test_the_definition_that_is_missing(schema: str, definition: str):
    assert out_variant_definition(f"ns::{schema}") == f"torch.library.define({definition})"
    if '"->(' in schema:
        return
    name, text = definition.strip('"').split('", "')
    out = parse_schema(f"{name.removeprefix('ns::')}{text}")
    assert out_variant_problem(parse_schema(schema), out) is None


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ("f(Tensor x) -> Tensor", None),
        ("f(Tensor x) -> Tensor[]", None),
        ("f(Tensor(a!) x) -> Tensor", "it writes to its argument 'x'"),
        ("f(Tensor(a) x) -> Tensor(a)", "it returns a view of an argument"),
        ("f(Tensor x) -> Tensor?", "it returns a value of type Tensor?, not a tensor"),
        ("f(Tensor x) -> (Tensor, Tensor[])", "it returns a list of tensors and more"),
        ("f(Tensor x) -> ()", "it returns nothing"),
    ],
)
def test_functions(schema: str, problem: str | None):
    assert functional_problem(parse_schema(schema)) == problem
