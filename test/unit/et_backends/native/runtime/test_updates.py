"""Outputs of machine code that update an input: in its memory or their own, and damaged tables."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from support.native_blobs import blob, tensor

from et_backends.native.format import NativeProgram, NativeUpdate, read_native, serialize_native
from et_backends.native.runtime.backend import NativeBackend
from et_schema.errors import Error, ExecutorchError, InvalidFile
from et_vm.backend import BackendExecuteContext, BackendInitContext, NativeOptions
from et_vm.platform import Platform
from et_vm.values import Tensor

CONTEXT = BackendExecuteContext(Platform(), None, "forward", 0)

TEXT = """
func.func @forward(%x: tensor<6x5xf32>, %k: tensor<6x5xf32>, %at: tensor<2xi64>, %v: tensor<2x5xf32>) ->
    (tensor<6x5xf32>, tensor<6x5xf32>) {
  %0 = edge.index_put %k, [%at], %v : (tensor<6x5xf32>, tensor<2xi64>, tensor<2x5xf32>) -> tensor<6x5xf32>
  %1 = edge.mul.Tensor %0, %x : tensor<6x5xf32>
  func.return %1, %0 : tensor<6x5xf32>, tensor<6x5xf32>
}
"""


def init(program: NativeProgram) -> object:
    context = BackendInitContext(Platform(), None, "forward", {}, None, True, native=NativeOptions(True, 2))
    return NativeBackend().init(context, memoryview(serialize_native(program)), [])


def program() -> NativeProgram:
    return read_native(blob(text=TEXT))


def call(at: tuple[int, int], *, shared: bool) -> list[Tensor]:
    """Arguments, with the updated input as an output, or with memory of its own for that."""
    random = np.random.default_rng(0)
    x, k = (tensor(random.standard_normal((6, 5)).astype(np.float32)) for _ in range(2))
    given = [x, k, tensor(np.array(at)), tensor(random.standard_normal((2, 5)).astype(np.float32))]
    outputs = [tensor(np.full((6, 5), np.nan, np.float32)) for _ in range(2)]
    return [*given, outputs[0], k if shared else outputs[1]]


def test_what_is_told() -> None:
    assert [(one.output, one.input) for one in program().updates] == [(1, 1)]


@pytest.mark.parametrize(
    "update",
    [
        "edge.scatter.src %k, %at, %k {dim = 0} : (tensor<6xi64>, tensor<6xi64>, tensor<6xi64>)",
        "edge.scatter.src %k, %k, %at {dim = 0} : (tensor<6xi64>, tensor<6xi64>, tensor<6xi64>)",
    ],
    ids=["elements", "indices"],
)
def test_an_update_that_reads_its_input_otherwise(update: str) -> None:
    text = f"""
    func.func @forward(%k: tensor<6xi64>, %at: tensor<6xi64>) -> tensor<6xi64> {{
      %0 = {update} -> tensor<6xi64>
      func.return %0 : tensor<6xi64>
    }}
    """
    assert read_native(blob(text=text)).updates == []


@pytest.mark.parametrize("shared", [True, False])
def test_elements_are_replaced(shared: bool) -> None:
    handle = init(program())
    for at in ((4, 1), (-1, 0), (3, 3)):
        args = call(at, shared=shared)
        before = args[1].array.copy()
        expected = before.copy()
        expected[list(at)] = args[3].array
        NativeBackend().execute(CONTEXT, handle, args)
        np.testing.assert_array_equal(args[5].array, expected)
        np.testing.assert_array_equal(args[4].array, expected * args[0].array)
        np.testing.assert_array_equal(args[1].array, expected if shared else before)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("at", [(0, 6), (-7, 0), (2**40, 1)])
def test_none_are_for_an_index_out_of_range(at: tuple[int, int], shared: bool) -> None:
    args = call(at, shared=shared)
    before = args[1].array.copy()
    with pytest.raises(ExecutorchError, match="aten::index_put: an index is out of range"):
        NativeBackend().execute(CONTEXT, init(program()), args)
    np.testing.assert_array_equal(args[1].array, before)
    np.testing.assert_array_equal(args[5].array, before)


def _updates(*updates: tuple[int, int]) -> Callable[[NativeProgram], None]:
    def change(program: NativeProgram) -> None:
        program.updates = [NativeUpdate(output, source) for output, source in updates]

    return change


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (_updates((2, 1)), "updates[0]"),
        (_updates((1, 4)), "updates[0]"),
        (_updates((1, 1), (0, 2)), "updates[1]"),
        (_updates((1, 3)), "updates[0]"),
        (_updates((1, 1), (1, 0)), "updates"),
        (_updates((1, 1), (0, 1)), "updates"),
        # Tables that make sense, but are not what the code is compiled for.
        (_updates((1, 0)), "objects"),
        (_updates((1, 1), (0, 0)), "objects"),
        (_updates(), "objects"),
    ],
)
def test_damaged_tables(change: Callable[[NativeProgram], None], where: str) -> None:
    damaged = program()
    change(damaged)
    with pytest.raises(InvalidFile) as raised:
        init(damaged)
    assert raised.value.code is Error.DelegateInvalidCompatibility
    assert raised.value.where == where
