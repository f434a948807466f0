"""Torch's schemas as the VM reads them."""

from __future__ import annotations

import pytest
import torch

from et_ops.torch_operators import may_compute, record_of
from et_vm.kernels.aten.schema import functional, operator, operators
from et_vm.kernels.libraries import load_library
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


@pytest.mark.parametrize(
    "name",
    [
        "aten::from_file.out",
        "aten::sparse_coo_tensor.size_out",
        "aten::_sparse_coo_tensor_with_dims.out",
        "aten::set_.source_Tensor",
        "aten::resize_",
        "aten::_foobar.out",
        "aten::_pin_memory.out",
        "aten::native_batch_norm.out",
        "aten::_ctc_loss.out",
        "inductor::accumulate_grad_",
        "load_library::__call__",
        "profiler::_record_function_enter",
        "prims::device_put.out",
    ],
)
def test_what_is_no_kernel(name: str) -> None:
    """Operators that read files, make tensors of another kind or trust their operands."""
    assert load_library("aten").lookup(name, ()) is None


def test_operators_of_the_library_alone() -> None:
    records = [record_of(name) for name in operators()]
    assert all(record is not None and may_compute(record) for record in records)


@pytest.mark.parametrize(
    "name",
    [
        "aten::max_pool2d_with_indices_backward.grad_input",
        "aten::_embedding_bag.out",
        "aten::segment_reduce.out",
        "aten::linalg_ldl_solve.out",
        "aten::binomial.out",
        "aten::polygamma.out",
        "aten::special_zeta.out",
        "aten::special_chebyshev_polynomial_t.out",
        "aten::special_shifted_chebyshev_polynomial_w.out",
        "aten::lcm.out",
        "aten::empty_like.out",
        "aten::empty_strided.out",
    ],
)
def test_kernels_that_torch_does_not_check_are_in_numpy(name: str) -> None:
    prepare = load_library("aten").lookup(name, ())
    assert prepare is load_library("portable").lookup(name, ()) is not None
