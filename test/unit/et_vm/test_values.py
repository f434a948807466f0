import numpy as np
import pytest
from support.vm_programs import BOUND, UNBOUND

from et_schema.errors import Error, ExecutorchError
from et_schema.scalar_type import ScalarType
from et_vm.platform import Platform
from et_vm.values import ListRegister, Tensor, contiguous_strides, element_count


@pytest.mark.parametrize(
    ("sizes", "dim_order", "strides"),
    [
        ((), (), ()),
        ((3,), (0,), (1,)),
        ((2, 3, 4), (0, 1, 2), (12, 4, 1)),
        ((2, 3, 4, 5), (0, 2, 3, 1), (60, 1, 15, 3)),
        ((2, 0, 4), (0, 1, 2), (4, 4, 1)),
    ],
)
def test_strides_follow_the_dim_order(sizes, dim_order, strides):
    assert contiguous_strides(sizes, dim_order) == strides


def test_element_count_does_not_overflow():
    assert element_count((2**31 - 1,) * 4) == (2**31 - 1) ** 4


@pytest.mark.parametrize("sizes", [(2, -1), (0, 2**31, 2**31), (2**62, 2)])
def test_shapes_that_no_array_has(sizes):
    tensor = Tensor(
        ScalarType.FLOAT,
        [1] * len(sizes),
        dynamism=UNBOUND,
        allocate=lambda nbytes: np.empty(nbytes, np.uint8),
    )
    with pytest.raises(ExecutorchError, match="no such tensor") as caught:
        tensor.resize(sizes)
    assert caught.value.code == Error.NotSupported


def test_channels_last_is_logical_axes_with_strides():
    image = np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4)
    tensor = Tensor.from_numpy(image, ScalarType.FLOAT, (0, 2, 3, 1))
    np.testing.assert_array_equal(tensor.array, image)
    np.testing.assert_array_equal(tensor.storage.view(np.float32), image.transpose(0, 2, 3, 1).reshape(-1))


def test_array_is_a_view_of_the_storage():
    storage = np.zeros(16, np.uint8)
    tensor = Tensor(ScalarType.INT, (4,), storage=storage)
    tensor.array[:] = 1
    assert storage.tolist() == [1, 0, 0, 0] * 4


def test_bfloat16_has_the_type_of_ml_dtypes():
    tensor = Tensor.from_numpy(np.array([1.5, -2.0]), ScalarType.BFLOAT16)
    assert tensor.dtype.name == "bfloat16"
    assert tensor.nbytes == 4
    assert tensor.array.astype(np.float32).tolist() == [1.5, -2.0]


def test_constant_is_read_only():
    tensor = Tensor.from_numpy(np.ones(3), ScalarType.FLOAT, constant=True)
    with pytest.raises(ValueError, match="read-only"):
        tensor.array[0] = 2


def test_without_storage_there_is_no_array():
    tensor = Tensor(ScalarType.FLOAT, (3,), name="value 7")
    assert not tensor.has_data
    with pytest.raises(ExecutorchError, match="no data at value 7") as caught:
        tensor.array  # noqa: B018  reading is the test
    assert caught.value.code == Error.InvalidState
    with pytest.raises(AttributeError):
        tensor.nonsense  # noqa: B018  reading is the test


def test_unbind_takes_the_data_away():
    tensor = Tensor.from_numpy(np.ones(3), ScalarType.FLOAT)
    version = tensor.version
    tensor.unbind()
    tensor.unbind()
    assert not tensor.has_data
    assert tensor.version != version


class TestResize:
    def test_same_shape_changes_nothing(self):
        tensor = Tensor.from_numpy(np.ones((2, 3)), ScalarType.FLOAT)
        array, version = tensor.array, tensor.version
        tensor.resize((2, 3))
        tensor.resize([2, 3])
        assert tensor.array is array
        assert tensor.version == version

    def test_static_refuses_another_shape(self):
        tensor = Tensor.from_numpy(np.ones((2, 3)), ScalarType.FLOAT)
        with pytest.raises(ExecutorchError, match="it is static") as caught:
            tensor.resize((3, 2))
        assert caught.value.code == Error.NotSupported

    def test_rank_is_fixed(self):
        tensor = Tensor.from_numpy(np.ones((2, 3)), ScalarType.FLOAT, dynamism=BOUND)
        with pytest.raises(ExecutorchError, match="rank is fixed at 2"):
            tensor.resize((6,))

    def test_bound_fits_by_element_count(self):
        tensor = Tensor.from_numpy(np.arange(6), ScalarType.LONG, dynamism=BOUND)
        version = tensor.version
        tensor.resize((4,))
        assert tensor.array.tolist() == [0, 1, 2, 3]
        assert tensor.sizes == (4,)
        assert tensor.strides == (1,)
        assert tensor.version != version
        with pytest.raises(ExecutorchError, match="56 bytes do not fit the planned 48"):
            tensor.resize((7,))
        tensor.resize((6,))
        assert tensor.array.tolist() == list(range(6))

    def test_unbound_grows_when_it_has_an_allocator(self):
        tensor = Tensor(ScalarType.FLOAT, (0, 2), dynamism=UNBOUND, allocate=Platform().allocate)
        assert not tensor.has_data
        tensor.resize((5, 2))
        tensor.array[:] = 1
        tensor.resize((3, 2))
        assert tensor.array.shape == (3, 2)
        assert tensor.capacity_bytes == 40
        tensor.unbind()
        tensor.resize((3, 2))
        assert tensor.has_data

    def test_unbound_that_is_planned_keeps_its_place(self):
        tensor = Tensor.from_numpy(np.ones(4), ScalarType.FLOAT, dynamism=UNBOUND)
        with pytest.raises(ExecutorchError, match="do not fit"):
            tensor.resize((5,))

    def test_sizes_become_plain_integers(self):
        tensor = Tensor.from_numpy(np.ones(4), ScalarType.FLOAT, dynamism=BOUND)
        tensor.resize((np.int64(2),))
        assert type(tensor.sizes[0]) is int


def test_versions_are_unique_across_tensors():
    first = Tensor.from_numpy(np.ones(1), ScalarType.FLOAT)
    second = Tensor.from_numpy(np.ones(1), ScalarType.FLOAT)
    assert first.version != second.version


def test_repr_names_type_and_shape():
    assert repr(Tensor(ScalarType.BFLOAT16, (2, 3), name="w")) == "Tensor(w: bfloat16[2x3])"


def test_list_register_reads_registers_anew():
    registers: list[object] = [1, 2, 3]
    held = ListRegister("IntList", (2, 0))
    assert held.read(registers) == [3, 1]
    registers[0] = 9
    assert held.read(registers) == [3, 9]
    assert ListRegister("OptionalTensorList", (-1, 1)).read(registers) == [None, 2]
    assert repr(held) == "IntList[2, 0]"
