"""Invalid nested programs."""

import numpy as np
import pytest
from support.vm_programs import Build

from et_schema.errors import Error, ExecutorchError, InvalidFile, MissingBackend, Trap
from et_schema.scalar_type import ScalarType
from et_vm.program import Program


def nested(blob: bytes) -> Program:
    build = Build()
    x, out = build.tensor(2), build.tensor(2)
    build.delegate("NestedProgramBackend", blob, x, out)
    build.inputs(x)
    build.outputs(out)
    return Program.load(build.file())


def identity(count: int = 1, sizes: tuple[int, ...] = (2,)) -> bytes:
    build = Build()
    inputs = [build.tensor(*sizes) for _ in range(count)]
    build.inputs(*inputs)
    build.outputs(inputs[0])
    return bytes(build.file())


def test_runs():
    method = nested(identity()).load_method("forward")
    assert method.execute([np.array([1, 2], np.float32)])[0].tolist() == [1, 2]


def test_a_blob_that_is_no_program():
    with pytest.raises(InvalidFile) as caught:
        nested(b"?" * 100).load_method("forward")
    assert caught.value.where.startswith("execution_plan[0].delegates[0]")


def test_a_program_of_other_arguments():
    method = nested(identity(2)).load_method("forward")
    with pytest.raises(Trap, match="the call has 2 arguments, the nested program 2 inputs and 1 outputs"):
        method.execute([np.zeros(2, np.float32)])


def test_a_program_of_other_sizes():
    method = nested(identity(sizes=(3,))).load_method("forward")
    with pytest.raises(ExecutorchError):
        method.execute([np.zeros(2, np.float32)])


def test_programs_in_programs_in_programs():
    with pytest.raises(MissingBackend) as caught:
        nested(bytes(_file(identity()))).load_method("forward")
    assert caught.value.code is Error.NotFound


def _file(blob: bytes) -> bytes:
    build = Build()
    x, out = build.tensor(2), build.tensor(2)
    build.delegate("NestedProgramBackend", blob, x, out)
    build.inputs(x)
    build.outputs(out)
    return build.file()


def test_outputs_of_another_type():
    build = Build()
    x, number = build.tensor(2), build.tensor(2, dtype=ScalarType.LONG)
    build.call("aten::ne.Scalar_out", x, build.scalar(0.0), number, number)
    build.inputs(x)
    build.outputs(number)
    method = nested(bytes(build.file())).load_method("forward")
    with pytest.raises(
        Trap, match="an output of the nested program is int64, that of the call float32"
    ) as caught:
        method.execute([np.zeros(2, np.float32)])
    assert caught.value.code is Error.InvalidType
