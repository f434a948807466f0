"""Programs with test cases. That stock ExecuTorch reads and writes the same is test/conformance/test_bundled.py's."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
import torch
from support.vm_commands import add, run
from support.vm_programs import Build

from et_schema.bpte import read_bpte, write_bpte
from et_schema.bundled_program import (
    BundledMethodTestCase,
    BundledMethodTestSuite,
    Tensor,
    Value,
)
from et_schema.errors import Error, ExecutorchError, InvalidFile
from et_schema.scalar_type import ScalarType
from et_tools.exit_codes import ExitCode
from et_vm.devtools.bundled import (
    BundledProgram,
    MethodTestCase,
    MethodTestSuite,
    Mismatch,
    bundle,
    serialize_from_bundled_program_to_flatbuffer,
)

ONE = np.ones(2, np.float32)


def bpte(*cases, program: Build | None = None) -> bytes:
    stream = io.BytesIO()
    size = bundle((program or add(2)).file(), cases or [("forward", [ONE, ONE], [2 * ONE])], stream)
    assert size == len(stream.getvalue())
    return stream.getvalue()


def with_tensor(tensor: Tensor) -> BundledProgram:
    """One test case whose first input is that tensor."""
    case = BundledMethodTestCase([Value(tensor)], [])
    stream = io.BytesIO()
    write_bpte(add(2).file(), [BundledMethodTestSuite("forward", [case])], stream)
    return BundledProgram(stream.getvalue())


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        (Tensor(ScalarType.FLOAT, [2], bytes(4)), "4 bytes for 2 elements"),
        (Tensor(ScalarType.FLOAT, [1] * 65, bytes(4)), "rank 65, the most is 16"),
        (Tensor(ScalarType.FLOAT, [2**31 - 1] * 15 + [0], b""), "overflows a 64-bit size"),
        (Tensor(ScalarType.FLOAT, [-1], bytes(4)), "sizes"),
        (Tensor(ScalarType.BOOL, [2], b"\1\2"), "bytes other than 0 and 1"),
    ],
)
def test_tensors_that_are_none(tensor: Tensor, message: str):
    with pytest.raises(InvalidFile, match=message):
        with_tensor(tensor).inputs("forward", 0)


class TestFile:
    def test_program_and_cases(self):
        cases = [("forward", [ONE, ONE], [2 * ONE]), ("forward", [ONE, 3 * ONE], [4 * ONE])]
        bundled = BundledProgram(bpte(*cases))
        assert list(bundled.cases()) == [("forward", 0), ("forward", 1)]
        assert bundled.inputs("forward", 1)[1].tolist() == [3, 3]
        assert bundled.expected("forward", 1)[0].tolist() == [4, 4]

    def test_the_program_is_aligned_and_whole(self):
        data = bpte()
        file = read_bpte(data)
        assert bytes(file.program) == add(2).file()
        assert data.index(bytes(file.program)) % 32 == 0

    def test_layouts(self):
        stored = np.arange(6, dtype=np.int16)
        tensor = Tensor(ScalarType.SHORT, [2, 3], stored.tobytes(), b"\x01\x00")
        (array,) = with_tensor(tensor).inputs("forward", 0)
        assert array.tolist() == stored.reshape(3, 2).T.tolist()

    @pytest.mark.parametrize(
        ("tensor", "message"),
        [
            (Tensor(ScalarType.FLOAT, [3], bytes(8), b"\x00"), "8 bytes for 3 elements of 4 bytes"),
            (Tensor(ScalarType.FLOAT, [2], bytes(8), b"\x01"), "dim order [1] of a tensor of 1"),
            (Tensor(ScalarType.FLOAT, [-2], bytes(8), b"\x00"), "sizes [-2]"),
            (Tensor(ScalarType.COMPLEXHALF, [2], bytes(8), b"\x00"), "numpy has no type for COMPLEXHALF"),
        ],
    )
    def test_tensors_that_make_no_sense(self, tensor, message):
        with pytest.raises(ExecutorchError) as caught:
            with_tensor(tensor).inputs("forward", 0)
        assert message in caught.value.message

    @pytest.mark.parametrize(
        ("data", "message"),
        [
            (b"x", "too short"),
            (b"x" * 100, "file identifier"),
            (bpte()[:-40], "byte 0x"),
            (bpte(("backward", [], [])), "the program has no method 'backward'"),
        ],
    )
    def test_malformed_files(self, data, message):
        with pytest.raises(InvalidFile) as caught:
            BundledProgram.load(data)
        assert message in str(caught.value)

    def test_without_a_program(self):
        stream = io.BytesIO()
        write_bpte(b"", [], stream)
        with pytest.raises(InvalidFile, match="the bundle has no program"):
            BundledProgram(stream.getvalue())

    def test_no_such_case(self):
        with pytest.raises(ExecutorchError, match="test case 1 is out of range of 1"):
            BundledProgram(bpte()).inputs("forward", 1)

    def test_values_that_cannot_be_bundled(self):
        with pytest.raises(ExecutorchError) as caught:
            bpte(("forward", ["text"], []))
        assert caught.value.code == Error.InvalidType


class TestVerify:
    def verify(self, *expected, program: Build | None = None, inputs=(ONE, ONE), **tolerances) -> None:
        bundled = BundledProgram(bpte(("forward", inputs, expected), program=program))
        bundled.verify(bundled.program.load_method("forward"), 0, **tolerances)

    def test_equal(self):
        self.verify(2 * ONE)

    def test_tolerances(self):
        self.verify(2.01 * ONE.astype(np.float32), rtol=0.01)
        with pytest.raises(Mismatch):
            self.verify((2.01 * ONE).astype(np.float32))

    def test_nan_is_nan(self):
        nan = np.full(2, np.nan, np.float32)
        self.verify(nan, inputs=(nan, ONE))

    def test_integers_are_equal_or_not(self):
        one = np.ones(2, np.int64)
        with pytest.raises(Mismatch):
            self.verify(
                2_000_001 * one, program=add(2, dtype=ScalarType.LONG), inputs=(2_000_000 * one, 2 * one)
            )

    @pytest.mark.parametrize(
        ("expected", "message"),
        [
            ([np.array([2, 3], np.float32)], "2.0, expected 3.0 at [1]; 1 of 2 elements differ"),
            ([2 * ONE.astype(np.float64)], "float32 [2], expected float64 [2]"),
            ([np.float32([[2, 2]])], "float32 [2], expected float32 [1, 2]"),
            ([], "1 outputs, expected 0"),
            ([2.0], "expected 2.0"),
        ],
    )
    def test_messages(self, expected, message):
        with pytest.raises(Mismatch) as caught:
            self.verify(*expected)
        assert message in caught.value.message


class TestCommand:
    def test_verify(self, capsys, file):
        assert run(capsys, "verify", file(bpte(), "net.bpte")) == "1 of 1 test case passed\n"
        report = json.loads(run(capsys, "verify", file(bpte(), "net.bpte"), "--json", "--poison"))
        assert report["cases"] == [{"method": "forward", "case": 0, "passed": True}]

    def test_results_that_differ(self, capsys, file):
        path = file(bpte(("forward", [ONE, ONE], [3 * ONE])), "net.bpte")
        error = run(capsys, "verify", path, code=ExitCode.CHECK_FAILED)
        assert "2.0, expected 3.0 at [0]; 2 of 2 elements differ at forward, case 0, output 0" in error
        assert run(capsys, "verify", path, "--rtol", "1") == "1 of 1 test case passed\n"

    def test_inputs_that_do_not_fit(self, capsys, file):
        path = file(bpte(("forward", [ONE], [ONE])), "net.bpte")
        assert "forward" in run(capsys, "verify", path, code=ExitCode.USAGE)

    def test_endless_loops_end(self, capsys, file):
        build = Build()
        build.jump_false(build.tensor(1, dtype=ScalarType.BOOL), 0)
        path = file(bpte(("forward", [], []), program=build), "net.bpte")
        error = run(capsys, "verify", path, "--instruction-limit", "9", code=ExitCode.TRAP)
        assert "more than 9 instructions" in error

    def test_other_verbs_take_the_program_in_it(self, capsys, file):
        path = file(bpte(), "net.bpte")
        assert "output 0" in run(capsys, "run", path)
        assert "method forward" in run(capsys, "info", path)

    def test_usage(self, capsys, file):
        assert "'-1' is not a finite" in run(capsys, "verify", "x", "--rtol", "-1", code=ExitCode.USAGE)
        assert "without test cases" in run(capsys, "verify", file(add(2)), code=ExitCode.INVALID_INPUT)


class Compiled:
    """A program as the compiler gives it."""

    buffer = add(2).file()


@pytest.mark.parametrize("program", [Compiled(), Compiled.buffer])
def test_suites_as_executorch_writes_them(program: Compiled | bytes) -> None:
    case = MethodTestCase((torch.ones(2), {"y": [ONE]}), 2 * torch.ones(2))
    bundled = BundledProgram(program, [MethodTestSuite(method_name="forward", test_cases=[case])])
    data = serialize_from_bundled_program_to_flatbuffer(bundled)
    assert data == bpte()
    for found in (bundled, BundledProgram.load(data)):
        assert list(found.cases()) == [("forward", 0)]
        found.verify(found.program.load_method("forward"), 0)
    wrong = BundledProgram(program, [MethodTestSuite("forward", [MethodTestCase([ONE, ONE], [ONE])])])
    with pytest.raises(Mismatch):
        wrong.verify(wrong.program.load_method("forward"), 0)
