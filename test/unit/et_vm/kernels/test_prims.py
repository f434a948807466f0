import math
import sys

import numpy as np
import pytest
from support.vm_programs import BOUND, UNBOUND

from et_schema.errors import Error, ExecutorchError
from et_schema.scalar_type import ScalarType
from et_vm.kernels.prims import PRIMS, kind_of
from et_vm.platform import Platform
from et_vm.values import ListRegister, Tensor

NAN, INF = math.nan, math.inf


def apply(name, *values):
    """Run a prim on registers holding `values` and return its output register."""
    registers = [*values, "untouched"]
    function, arguments = PRIMS[name].make(registers, *range(len(registers)))
    function(*arguments)
    return registers[-1]


def scalar(name, *values):
    return apply(f"executorch_prim::{name}.Scalar", *values)


def test_there_are_28():
    assert len(PRIMS) == 28
    assert all(prim.name == name and prim.synopsis for name, prim in PRIMS.items())


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("add", (2, 3), 5),
        ("add", (2, 3.5), 5.5),
        ("sub", (2, 3), -1),
        ("mul", (2.0, 3), 6.0),
        ("floordiv", (7, 2), 3),
        ("floordiv", (-7, 2), -4),
        ("floordiv", (7, -2), -4),
        ("floordiv", (-7.5, 2), -4.0),
        ("floordiv", (-1.0, 0.0), -INF),
        ("floordiv", (0.0, 0.0), INF),
        ("floordiv", (-1.0, INF), -1.0),
        ("floordiv", (1.5, 0), INF),
        ("mod", (-7, 2), -1),
        ("mod", (7, -2), 1),
        ("truediv", (7, 2), 3.5),
        ("truediv", (1, 0), INF),
        ("truediv", (-1.0, 0.0), -INF),
        ("truediv", (1.0, -0.0), -INF),
        ("eq", (1, 1.0), True),
        ("eq", (True, False), False),
        ("gt", (2, 1), True),
        ("lt", (2, 1.5), False),
        ("ge", (2, 2), True),
        ("le", (3, 2), False),
        ("neg", (3,), -3),
        ("neg", (-2.5,), 2.5),
        ("sym_float", (3,), 3.0),
        ("sym_float", (True,), 1.0),
        ("sym_int", (-2.5,), -2),
        ("sym_int", (True,), 1),
        ("sym_not", (True,), False),
        ("sym_max", (-7, 2), 2),
        ("sym_min", (-7, 2), -7),
        ("sym_ite", (True, 1, 2.5), 1),
        ("sym_ite", (False, 1, 2.5), 2.5),
        ("ceil", (-0.5,), 0),
        ("ceil", (2.1,), 3),
        ("trunc", (-2.9,), -2),
        ("round", (2.5,), 2),
        ("round", (3.5,), 4),
    ],
)
def test_scalars(name, arguments, expected):
    result = scalar(name, *arguments)
    assert result == expected
    assert type(result) is type(expected)
    assert kind_of(result) in PRIMS[f"executorch_prim::{name}.Scalar"].result


def test_zero_over_zero_is_nan():
    assert math.isnan(scalar("truediv", 0, 0))


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [("floordiv", (-7, 2), -3), ("floordiv", (-7, -2), 3), ("mod", (-7, 2), -1), ("mod", (7, -2), 1)],
)
def test_integer_division_rounds_towards_zero(name, arguments, expected):
    assert apply(f"executorch_prim::{name}.int", *arguments) == expected


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("add", (True, 1)),
        ("add", (None, 1)),
        ("mod", (7.5, 2)),
        ("sym_max", (1, 1.0)),
        ("eq", (True, 1)),
        ("neg", (True,)),
        ("ceil", (3,)),
        ("round", (True,)),
        ("sym_not", (1,)),
        ("sym_ite", (1, 2, 3)),
        ("sym_ite", (True, None, 1)),
        ("sym_ite", (True, 1, None)),
        ("sym_float", ("a",)),
        ("sym_int", (None,)),
    ],
)
def test_wrong_types(name, arguments):
    with pytest.raises(ExecutorchError) as caught:
        scalar(name, *arguments)
    assert caught.value.code == Error.InvalidType


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("floordiv", (1, 0)),
        ("mod", (1, 0)),
        ("add", (2**63 - 1, 1)),
        ("mul", (2**62, 4)),
        ("neg", (-(2**63),)),
        ("sym_int", (NAN,)),
        ("ceil", (INF,)),
        ("sym_int", (sys.float_info.max,)),
    ],
)
def test_results_that_are_no_integer(name, arguments):
    with pytest.raises(ExecutorchError) as caught:
        scalar(name, *arguments)
    assert caught.value.code == Error.InvalidArgument


def tensor(array, **options):
    array = np.asarray(array)
    kinds = {"f": ScalarType.FLOAT, "i": ScalarType.LONG, "b": ScalarType.BOOL}
    return Tensor.from_numpy(array, kinds[array.dtype.kind], **options)


class TestTensorPrims:
    def test_size_and_numel(self):
        x = tensor(np.zeros((2, 3, 4)))
        assert apply("aten::sym_size.int", x, 1) == 3
        assert apply("aten::sym_size.int", x, -1) == 4
        assert apply("aten::sym_numel", x) == 24

    @pytest.mark.parametrize(
        ("dim", "code"), [(3, Error.InvalidArgument), (-4, Error.InvalidArgument), (1.0, Error.InvalidType)]
    )
    def test_size_of_a_dimension_that_is_not_there(self, dim, code):
        with pytest.raises(ExecutorchError) as caught:
            apply("aten::sym_size.int", tensor(np.zeros((2, 3, 4))), dim)
        assert caught.value.code == code

    @pytest.mark.parametrize("value", [7, 2.5, True])
    def test_item(self, value):
        result = apply("aten::_local_scalar_dense", tensor([value, value]))
        assert result == value
        assert type(result) is type(value)

    def test_item_of_bfloat16_is_a_float(self):
        result = apply("aten::_local_scalar_dense", Tensor.from_numpy(np.array(1.5), ScalarType.BFLOAT16))
        assert result == 1.5
        assert type(result) is float

    def test_item_of_nothing(self):
        with pytest.raises(ExecutorchError, match=r"a tensor of shape \[0\] is empty"):
            apply("aten::_local_scalar_dense", tensor(np.zeros(0)))

    def test_not_a_tensor(self):
        with pytest.raises(ExecutorchError) as caught:
            apply("aten::sym_numel", 3)
        assert caught.value.code == Error.InvalidType


def view(source, sizes, target):
    registers = [source, ListRegister("IntList", tuple(range(3, 3 + len(sizes)))), target, *sizes]
    function, arguments = PRIMS["executorch_prim::et_view.default"].make(registers, 0, 1, 2)
    function(*arguments)
    return target


class TestView:
    def test_shares_the_bytes(self):
        source = tensor(np.arange(6.0))
        target = view(source, (2, -1), Tensor(ScalarType.FLOAT, (2, 3)))
        assert target.array.tolist() == [[0, 1, 2], [3, 4, 5]]
        source.array[0] = 9
        assert target.array[0, 0] == 9

    def test_again_is_free(self):
        source, target = tensor(np.arange(6.0)), Tensor(ScalarType.FLOAT, (6,))
        version = view(source, (6,), target).version
        assert view(source, (6,), target).version == version

    def test_dynamic_target_takes_the_shape(self):
        source = tensor(np.arange(6.0))
        assert view(source, (3, 2), Tensor(ScalarType.FLOAT, (4, 4), dynamism=BOUND)).sizes == (3, 2)

    @pytest.mark.parametrize(
        ("sizes", "target"),
        [
            ((4, 2), Tensor(ScalarType.FLOAT, (4, 2))),
            ((-1, -1), Tensor(ScalarType.FLOAT, (2, 3))),
            ((-2, 3), Tensor(ScalarType.FLOAT, (2, 3))),
            ((4, -1), Tensor(ScalarType.FLOAT, (4, 1))),
            ((0, -1), Tensor(ScalarType.FLOAT, (0, 1))),
            ((6,), Tensor(ScalarType.LONG, (6,))),
            ((2, 3), Tensor(ScalarType.FLOAT, (2, 3), (1, 0))),
        ],
    )
    def test_shapes_and_types_that_do_not_fit(self, sizes, target):
        with pytest.raises(ExecutorchError) as caught:
            view(tensor(np.arange(6.0)), sizes, target)
        assert caught.value.code == Error.InvalidArgument

    def test_static_target_of_another_shape(self):
        with pytest.raises(ExecutorchError) as caught:
            view(tensor(np.arange(6.0)), (3, 2), Tensor(ScalarType.FLOAT, (2, 3)))
        assert caught.value.code == Error.NotSupported

    def test_sizes_must_be_integers(self):
        with pytest.raises(ExecutorchError) as caught:
            view(tensor(np.arange(6.0)), (6.0,), Tensor(ScalarType.FLOAT, (6,)))
        assert caught.value.code == Error.InvalidType

    def test_source_without_data(self):
        with pytest.raises(ExecutorchError) as caught:
            view(Tensor(ScalarType.FLOAT, (6,)), (6,), Tensor(ScalarType.FLOAT, (6,)))
        assert caught.value.code == Error.InvalidState


def copy_index(target, item, index):
    registers = [target, item, index]
    function, arguments = PRIMS["executorch_prim::et_copy_index.tensor"].make(registers, 0, 1, 2)
    function(*arguments)
    return target


class TestCopyIndex:
    def test_bound_grows_from_the_front(self):
        target = tensor(np.zeros((4, 2)), dynamism=BOUND)
        for index in range(3):
            copy_index(target, tensor([float(index), 1.0]), index)
        assert target.array.tolist() == [[0, 1], [1, 1], [2, 1]]
        copy_index(target, tensor([9.0, 9.0]), 0)
        assert target.array.tolist() == [[9, 9]]

    def test_unbound_keeps_what_it_has_when_it_moves(self):
        target = Tensor(ScalarType.FLOAT, (0, 2), dynamism=UNBOUND, allocate=Platform().allocate)
        target.resize((0, 2))
        for index in range(5):
            copy_index(target, tensor([float(index), 1.0]), index)
        assert target.array[:, 0].tolist() == [0, 1, 2, 3, 4]

    def test_unbound_gets_memory_when_it_is_written(self):
        target = Tensor(ScalarType.FLOAT, (0, 2), dynamism=UNBOUND, allocate=Platform().allocate)
        for index in range(3):
            copy_index(target, tensor([float(index), 1.0]), index)
        assert target.array[:, 0].tolist() == [0, 1, 2]

    def test_static_is_filled_in_place(self):
        target = copy_index(tensor(np.zeros((2, 2))), tensor([1.0, 2.0]), 1)
        assert target.array.tolist() == [[0, 0], [1, 2]]

    @pytest.mark.parametrize(
        ("item", "index", "code"),
        [
            ([1.0, 2.0], 2, Error.NotSupported),
            ([1.0, 2.0], -1, Error.InvalidArgument),
            ([1.0, 2.0, 3.0], 0, Error.InvalidArgument),
            ([1, 2], 0, Error.InvalidArgument),
            ([1.0, 2.0], 0.0, Error.InvalidType),
        ],
    )
    def test_what_does_not_fit(self, item, index, code):
        with pytest.raises(ExecutorchError) as caught:
            copy_index(tensor(np.zeros((2, 2))), tensor(item), index)
        assert caught.value.code == code
