"""Execution of TOSA files: results by hand, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from et_schema.errors import Error, ExecutorchError, InvalidFile
from et_schema.tosa import read_tosa, serialize_tosa
from et_schema.tosa_graph import (
    DType,
    Op,
    RescaleAttribute,
    RoundingMode,
    TosaBasicBlock,
    TosaGraph,
    TosaOperator,
    TosaRegion,
    TosaTensor,
    Version,
)
from et_schema.tosa_ops import ATTRIBUTES
from et_vm.backends.tosa.program import MAKERS, TosaProgram

Types = list[tuple[list[int], DType]]


def program(op: Op, attribute: Any, inputs: Types, output: tuple[list[int], DType]) -> TosaProgram:
    """A file of one operator, loaded."""
    names = [f"x{number}" for number in range(len(inputs))]
    tensors = [TosaTensor(name, *type) for name, type in zip([*names, "y"], [*inputs, output], strict=True)]
    block = TosaBasicBlock("main", [TosaOperator(op, attribute, names, ["y"])], tensors, names, ["y"])
    blob = serialize_tosa(TosaGraph(Version(1, 0, 0, False), [TosaRegion("main", [block])]))
    return TosaProgram(read_tosa(blob))


def test_every_operator_of_the_dialect_has_a_kernel() -> None:
    assert {op for op in ATTRIBUTES if op not in (Op.CONST, Op.CONST_SHAPE)} == set(MAKERS)


def test_rescales_round_half_up() -> None:
    attribute = RescaleAttribute(True, RoundingMode.SINGLE_ROUND, False, False, False)
    one = ([1], DType.INT8)
    types: Types = [([5], DType.INT32), ([1], DType.INT32), one, ([1], DType.INT32), one]
    loaded = program(Op.RESCALE, attribute, types, ([5], DType.INT8))
    # A half, and a zero point of 1 in the result.
    numbers = (np.array([-3, -2, 1, 3, 999]), np.array([2**30]), np.array([31]), np.array([0]), np.array([1]))
    kinds = (np.int32, np.int32, np.int8, np.int32, np.int8)
    (made,) = loaded.run([array.astype(kind) for array, kind in zip(numbers, kinds, strict=True)])
    np.testing.assert_array_equal(made, np.array([0, 0, 2, 3, 127], np.int8))


def test_indices_out_of_range() -> None:
    types: Types = [([1, 3, 2], DType.FP32), ([1, 4], DType.INT32)]
    loaded = program(Op.GATHER, ATTRIBUTES[Op.GATHER](), types, ([1, 4, 2], DType.FP32))
    values = np.arange(6, dtype=np.float32).reshape(1, 3, 2)
    (made,) = loaded.run([values, np.array([[2, 0, 0, 1]], np.int32)])
    np.testing.assert_array_equal(made, values[:, [2, 0, 0, 1]])
    with pytest.raises(ExecutorchError, match=r"GATHER: .*an index is not from 0 to 2") as caught:
        loaded.run([values, np.array([[0, 3, 0, 0]], np.int32)])
    assert caught.value.code is Error.InvalidArgument


def test_element_types_without_kernels() -> None:
    types: Types = [([2], DType.BF16), ([2], DType.BF16)]
    with pytest.raises(InvalidFile, match="element type BF16 is not supported"):
        program(Op.ADD, ATTRIBUTES[Op.ADD](), types, ([2], DType.BF16))
