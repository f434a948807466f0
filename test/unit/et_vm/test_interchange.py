import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest
import torch
from support.vm_programs import Build, kernels

from et_schema.errors import InputError
from et_schema.scalar_type import ScalarType
from et_vm.interchange import any_torch, is_torch, to_numpy, to_torch
from et_vm.program import Program


def test_what_is_torch():
    assert is_torch(torch.zeros(1))
    assert is_torch(torch.nn.Parameter(torch.zeros(1)))
    assert not is_torch(np.zeros(1))
    assert any_torch([1, torch.zeros(1)])
    assert not any_torch([1, np.zeros(1)])


def test_other_things_are_no_arrays():
    assert to_numpy([1.0]) is None
    assert to_numpy(3) is None


def test_numpy_scalars_are_arrays():
    assert to_numpy(np.float32(3)).shape == ()


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.bool, torch.float8_e4m3fn]
)
def test_there_and_back(dtype):
    given = torch.tensor([[0, 1, 1], [1, 0, 0]]).to(dtype)
    array = to_numpy(given)
    assert array.dtype.name == str(dtype).removeprefix("torch.")
    back = to_torch(array.copy())
    assert back.dtype == dtype
    assert torch.equal(back.float(), given.float())


def test_parameters_and_strides():
    given = torch.nn.Parameter(torch.arange(6.0).reshape(2, 3)).t()
    np.testing.assert_array_equal(to_numpy(given), given.detach().numpy())


def test_sparse_tensors_are_refused():
    with pytest.raises(InputError, match="sparse"):
        to_numpy(torch.zeros(2, 2).to_sparse())


def add_one() -> bytes:
    build = Build()
    x, out = build.tensor(2, dtype=ScalarType.BFLOAT16), build.tensor(2, dtype=ScalarType.BFLOAT16)
    build.add(x, x, out)
    build.inputs(x)
    build.outputs(out)
    return build.file()


def test_the_same_kind_out_as_in():
    method = Program.load(add_one()).load_method("forward", kernels=kernels())
    (from_torch,) = method.execute([torch.tensor([1, 2], dtype=torch.bfloat16)])
    (from_numpy,) = method.execute([np.array([1, 2], ml_dtypes.bfloat16)])
    assert from_torch.dtype == torch.bfloat16
    assert from_torch.tolist() == [2, 4]
    assert from_numpy.dtype == ml_dtypes.bfloat16


def test_numpy_out_of_a_method_without_tensors_in():
    build = Build()
    number, weight = build.scalar(1), build.constant(np.array([1.5], ml_dtypes.bfloat16))
    build.inputs(number)
    build.outputs(weight)
    method = Program.load(build.file()).load_method("forward", kernels=kernels())
    for out in (*method.execute([1]), method.get_output(0)):
        assert type(out) is np.ndarray
        assert out.dtype == ml_dtypes.bfloat16
        assert out.tolist() == [1.5]


def test_constants_as_outputs_are_writable_copies():
    build = Build()
    x, weight = build.tensor(1), build.constant(np.ones(2, np.float32))
    build.inputs(x)
    build.outputs(weight)
    method = Program.load(build.file()).load_method("forward", kernels=kernels())
    for given in (torch.zeros(1), np.zeros(1, np.float32)):
        for clone in (True, False):
            (out,) = method.execute([given], clone_outputs=clone)
            assert out.tolist() == [1, 1]


def test_torch_is_not_imported_for_numpy():
    code = "import sys, et_vm.runtime; print('torch' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"
