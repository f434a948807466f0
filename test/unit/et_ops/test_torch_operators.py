"""Operators that torch may be asked to compute, by name and schema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pytest
import torch

from et_ops import OPERATORS, Operator, parse_schema
from et_ops.dtypes import F32
from et_ops.inference.meta import Meta
from et_ops.torch_operators import (
    TORCH_NAMESPACES,
    UNCHECKED,
    library_overload,
    may_compute,
    overload_of,
    user_overload,
    user_overloads,
)


@pytest.fixture(autouse=True)
def library() -> Iterator[Any]:
    """A user's library, whose namespace and operators are called as attributes of `torch.ops`, too."""
    found: Any = torch.library.Library("own_names", "DEF")
    found.define("scale(Tensor x, float by) -> Tensor")
    found.define("scale.out(Tensor x, float by, *, Tensor(a!) out) -> Tensor(a!)")
    found.define("overloads(Tensor x) -> Tensor")
    yield found
    found._destroy()


def test_operators_of_the_library():
    add: Any = torch.ops.aten.add
    assert library_overload(torch, OPERATORS["add.Tensor"]) is add.Tensor
    assert overload_of(torch, OPERATORS["relu"]) is torch.ops.aten.relu.default
    quantize: Any = library_overload(torch, OPERATORS["quantized_decomposed.quantize_per_tensor"])
    assert quantize.name() == "quantized_decomposed::quantize_per_tensor"


def test_records_of_others_under_names_of_the_library():
    record = Operator("aten", "relu(Tensor self) -> Tensor")
    assert library_overload(torch, record) is None
    assert overload_of(torch, record) is None


@pytest.mark.parametrize(
    "name", ["_cufft_set_plan_cache_max_size", "_nnpack_available", "embedding_dense_backward"]
)
def test_operators_of_the_library_that_torch_does_not_compute(name: str):
    assert not may_compute(OPERATORS[name])
    assert overload_of(torch, OPERATORS[name]) is None


def test_names_of_unchecked_operators():
    assert UNCHECKED.keys() <= OPERATORS.keys()


def test_operators_of_a_user_by_name_and_schema():
    found: Any = torch.ops.own_names
    schema = "scale(Tensor x, float by) -> Tensor"
    assert user_overload(torch, "own_names::scale") is found.scale.default
    assert user_overload(torch, "own_names::scale.out") is found.scale.out
    assert user_overload(torch, "own_names::scale", parse_schema(schema)) is found.scale.default
    assert overload_of(torch, Operator("own_names", schema)) is found.scale.default
    for other in (
        "scale(Tensor x, float by, int n=1) -> Tensor",
        "scale(Tensor x, int by) -> Tensor",
        "scale(Tensor y, float by) -> Tensor",
        "scale(Tensor x, float by) -> Tensor[]",
    ):
        assert overload_of(torch, Operator("own_names", other)) is None
    overloads: Any = user_overload(torch, "own_names::overloads")  # also an attribute of packets
    assert overloads.name() == "own_names::overloads"
    assert user_overload(torch, "own_names::scale.none") is None


@pytest.mark.parametrize(
    "name",
    [
        "load_library::__call__.__call__",
        "load_library::__call__",
        "__class__::__init__",
        "own_names::scale.__class__",
        "own_names::__dict__",
        "own_names::scale.overloads",
        "own_names::scale.default",
        "aten::from_file",
        "aten::from_file.out",
        "inductor::_reinterpret_tensor",
        "inductor::_alloc_from_pool",
        "profiler::_record_function_enter",
        "prims::device_put",
        "symm_mem::memset32_",
        "higher_order::cond",
        "",
        "::",
        "a b::c",
    ],
)
def test_what_is_no_operator_of_a_user(name: str):
    assert user_overload(torch, name) is None


def test_namespaces_of_torch():
    """What torch's own sources register is in the list: a newer torch may have more."""
    registry = cast(Any, torch)._C
    others = {schema.name for schema in registry._jit_get_all_schemas()}
    others = {name for name in others if name.partition("::")[0] not in TORCH_NAMESPACES}
    sources = {name: registry._dispatch_dump(name) for name in others}
    assert not {
        name for name, text in sources.items() if "/pytorch/torch/" in text or "/pytorch/aten/" in text
    }


@pytest.mark.parametrize("name", ["lstm.input", "gru.input", "rnn_tanh.input"])
def test_weights_of_recurrent_networks(name: str):
    """Torch's kernel of LSTMs reads weights of any sizes."""
    gates = {"lstm.input": 4, "gru.input": 3}.get(name, 1)

    def meta(*shape: int) -> Meta:
        return Meta(shape, F32)

    states = [meta(2, 2, 3)] * 2
    sizes = [(gates * 3, 4), (gates * 3, 3), (gates * 3,), (gates * 3,)] * 2
    rule: Any = OPERATORS[name].shape_rule

    def check(params: list[Meta], hx: list[Meta] = states, layers: int = 1) -> Any:
        given = hx if gates == 4 else hx[0]
        return rule(meta(5, 2, 4), given, params, True, layers, 0.0, False, True, False)

    right = [meta(*size) for size in sizes]
    assert check(right)[0].shape == (5, 2, 6)
    for at in range(len(right)):
        for wrong in ((2,), (gates * 3, 1), (1, 3)):
            with pytest.raises(ValueError, match=rf"params\[{at}\]"):
                check([*right[:at], meta(*wrong), *right[at + 1 :]])
    with pytest.raises(ValueError, match="params"):
        check(right[:-1])
    with pytest.raises(ValueError, match="params"):
        check(right, [meta(2**41, 2, 3)] * 2, 2**40)
    with pytest.raises(ValueError, match="hx"):
        check(right, [meta(2, 1, 3)] * 2)


@pytest.mark.parametrize(
    ("namespace", "packet"),
    [
        ("load_library", "__call__"),
        ("inductor", "_reinterpret_tensor"),
        ("aten", "from_file"),
        ("__class__", "__init__"),
        ("a.b", "c"),
        ("", ""),
    ],
)
def test_operators_that_are_no_user_s(namespace: str, packet: str) -> None:
    assert user_overloads(torch, namespace, packet) == []


def test_results_that_kernels_leave_unwritten() -> None:
    """What memory of the process held before is not for a program to read."""
    assert not may_compute(OPERATORS["resize_as"])
