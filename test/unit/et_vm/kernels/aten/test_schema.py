"""Torch's schemas as the VM reads them."""

from __future__ import annotations

import pytest
import torch

from et_vm.kernels.aten.schema import functional, operator, operators
from et_vm.kernels.registry import Param


def test_names_are_executorchs() -> None:
    names = set(operators())
    assert {"aten::add.out", "aten::mean.dtype_out", "aten::split_copy.Tensor_out", "aten::copy_"} <= names
    assert not {"aten::add.Tensor", "aten::view", "aten::__iand__.Tensor"} & names
    assert not {"aten::add_.t", "aten::setdefault.str"} & names


def test_arguments() -> None:
    found = operator("aten::sum.IntList_out")
    assert [argument.name for argument in found.inputs] == ["self", "dim", "keepdim", "dtype"]
    assert [argument.name for argument in found.outs] == ["out"]
    dtype = found.inputs[3]
    assert (str(dtype.type), dtype.kwarg_only, dtype.default) == ("ScalarType?", True, None)
    assert found.parameters[1] == Param("dim", frozenset({"IntList", "Null"}), False)
    assert found.parameters[3].kinds == {"Int", "Null"}


def test_numbers_and_floats_are_told_apart() -> None:
    layer_norm = {
        parameter.name: parameter for parameter in operator("aten::native_layer_norm.out").parameters
    }
    assert layer_norm["eps"].is_float
    assert layer_norm["eps"].kinds == {"Double", "Int"}
    add = {parameter.name: parameter for parameter in operator("aten::add.out").parameters}
    assert not add["alpha"].is_float
    assert add["alpha"].kinds == {"Int", "Double", "Bool"}


def test_in_place_operators_have_no_outputs() -> None:
    found = operator("aten::index_put_")
    assert found.outs == ()
    assert found.inputs[0].is_mutated
    assert found.parameters[1].kinds == {"TensorList", "OptionalTensorList"}


def test_lists_of_outputs() -> None:
    assert operator("aten::unbind_copy.int_out").returns_list
    assert not operator("aten::topk.values").returns_list


@pytest.mark.parametrize(
    ("name", "overload"),
    [
        ("aten::add.out", torch.ops.aten.add.Tensor),
        ("aten::add.Scalar_out", torch.ops.aten.add.Scalar),
        ("aten::index.Tensor_out", torch.ops.aten.index.Tensor),
        ("aten::topk.values", torch.ops.aten.topk.default),
        ("aten::nonzero.out", torch.ops.aten.nonzero.default),
    ],
)
def test_functional_forms(name: str, overload: object) -> None:
    assert functional(name) == overload


def test_unknown_operators() -> None:
    with pytest.raises(AttributeError):
        operator("aten::no_such_operator.out")
