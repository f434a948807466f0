"""Execution of frozen files, with unchanged results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from et_schema.errors import Error, ExecutorchError
from et_schema.scalar_type import ScalarType, numpy_dtype
from et_vm.backend import Backend, BackendRegistry
from et_vm.devtools.bundled import BundledProgram
from et_vm.load.data_files import DataFiles
from et_vm.program import Program

FIXTURES = Path(__file__).parents[2] / "fixtures"
BF16 = numpy_dtype(ScalarType.BFLOAT16)


def f32(*items: Any) -> Any:
    return np.array(items, np.float32)


X = f32(-1, 2, -3, 4)
RELU = [f32(0, 2, 0, 4)]
IMAGE = np.arange(-12, 12, dtype=np.float32).reshape(1, 2, 3, 4)
PAIR = f32([1, 2, 3, 4], [5, 6, 7, 8])


def half_gelu(x: Any) -> Any:
    """0.5 x through the approximation of gelu by tanh."""
    y = x.astype(np.float64) / 2
    return (y / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (y + 0.044715 * y**3)))).astype(np.float32)


RUNS: dict[str, tuple[list[Any], list[Any]]] = {
    "no_header": ([X, X], [2 * X]),
    "constants_in_a_segment": ([X], [X * f32(1, 2, 3, 4) + 5]),
    "short_header": ([X], [X * f32(1, 2, 3, 4) + 5]),
    "constants_inline": ([X], [X * f32(1, 2, 3, 4)]),
    "alignments": ([X], [X * f32(1, 2, 3, 4) + f32(5, 6, 7, 8)]),
    "external": ([X], [X * f32(1, 2, 3, 4) + f32(5, 6, 7, 8)]),
    "element_types": (
        [np.array([0, 1, 7], np.uint8)],
        [
            np.array([0, 1, 7], dtype)
            for dtype in (
                np.int8,
                np.int16,
                np.int32,
                np.int64,
                np.float16,
                np.float32,
                np.float64,
                BF16,
                bool,
            )
        ],
    ),
    "channels_last": ([IMAGE], [np.maximum(IMAGE, 0)]),
    "dynamic_bound": ([f32(-1, 2, 3)], [f32(0, 2, 3)]),
    "dynamic_unbound": ([f32(-1, 2, 3)], [f32(0, 2, 3)]),
    "unplanned": ([X], RELU),
    "scalar_inputs": ([X, 0.5, 3, True, "mode", None], [X / 2]),
    "mutable_data": ([f32(1, -30)], [f32(11, 0)]),
    "zero_state": ([f32(1, -2)], [f32(1, 0)]),
    "named_data": ([X, X], [2 * X]),
    "two_chains": ([X, X], [f32(0, 4, 0, 8)]),
    "stack_traces": ([X, X], [2 * X]),
    "delegate_inline": ([X], [X + 4]),
    "delegate_in_a_segment": ([X], [X + 8]),
}


class FixtureBackend(Backend):
    """Adds the length of its blob."""

    def init(self, context, processed, compile_specs):
        return len(processed)

    def execute(self, context, handle, args):
        np.add(args[0].array, np.float32(handle), args[1].array)


def load(name: str, method: str = "forward") -> Any:
    program = Program.load(FIXTURES / f"{name}.pte")
    external = DataFiles.load(*FIXTURES.glob("*.ptd"))
    backends = BackendRegistry({"FixtureBackend": FixtureBackend()})
    return program.load_method(method, external=external, backends=backends, poison=True)


@pytest.mark.parametrize("name", RUNS)
def test_runs(name):
    inputs, expected = RUNS[name]
    outputs = load(name).execute(inputs)
    assert [output.dtype for output in outputs] == [array.dtype for array in expected]
    for output, array in zip(outputs, expected, strict=True):
        np.testing.assert_array_equal(output, array)


def test_all_types_of_values():
    joined, picked, up, one, none = load("all_types_of_values").execute([PAIR, np.array([1, 0])])
    np.testing.assert_allclose(joined, np.concatenate([PAIR, half_gelu(PAIR)]), rtol=1e-6)
    np.testing.assert_array_equal(picked, PAIR[[1, 0]])
    np.testing.assert_array_equal(up[0, 0], PAIR.repeat(2, 0).repeat(2, 1))
    assert (one, none) == (1, None)


@pytest.mark.parametrize(("condition", "expected"), [(True, f32(0, 2, 0, 4)), (False, f32(1, 2, 3, 4))])
def test_control_flow(condition, expected):
    (out,) = load("control_flow").execute([X, np.array(condition)])
    np.testing.assert_array_equal(out, expected)


def test_two_methods():
    np.testing.assert_array_equal(load("two_methods", "decode").execute([X])[0], X * f32(1, 2, 3, 4))
    np.testing.assert_array_equal(load("two_methods", "encode").execute([X])[0], X + f32(1, 2, 3, 4))
    assert load("two_methods", "version").execute() == [3]


def test_state_is_kept():
    method = load("mutable_data")
    method.execute([f32(1, 1)])
    assert method.execute([f32(1, 1)])[0].tolist() == [12, 22]


def test_offsets_of_64_bits():
    """The arena is not made here: it has four gigabytes."""
    program = Program.load(FIXTURES / "offsets_of_64_bits.pte")
    assert program.method_meta("forward").memory_planned_buffer_sizes() == {1: (1 << 32) + 32}


def test_devices():
    with pytest.raises(ExecutorchError, match="device CUDA") as caught:
        Program.load(FIXTURES / "devices.pte")
    assert caught.value.code == Error.NotSupported


def test_test_cases():
    bundled = BundledProgram.load(FIXTURES / "test_cases.bpte")
    method = bundled.program.load_method("forward")
    assert list(bundled.cases()) == [("forward", 0), ("forward", 1)]
    for _, case in bundled.cases():
        bundled.verify(method, case)


def test_every_fixture_is_tested():
    others = {"all_types_of_values", "control_flow", "two_methods", "offsets_of_64_bits", "devices"}
    assert {path.stem for path in FIXTURES.glob("*.pte")} == RUNS.keys() | others
