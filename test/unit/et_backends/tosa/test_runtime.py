"""Execution of TOSA files: results by hand, and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from et_backends.tosa.format.blob import read_tosa, serialize_tosa
from et_backends.tosa.format.graph import (
    ClampAttribute,
    Conv2dAttribute,
    DepthwiseConv2dAttribute,
    DType,
    NanPropagationMode,
    Op,
    RescaleAttribute,
    RoundingMode,
    TosaBasicBlock,
    TosaGraph,
    TosaOperator,
    TosaRegion,
    TosaShape,
    TosaTensor,
    TransposeConv2dAttribute,
    Version,
)
from et_backends.tosa.format.operators import ATTRIBUTES, OPERANDS, TosaType, result_of
from et_backends.tosa.runtime.program import MAKERS, TosaProgram
from et_schema.errors import Error, ExecutorchError, InvalidFile
from et_vm.values import Array

Types = list[tuple[list[int], DType]]


def program(
    op: Op,
    attribute: Any,
    inputs: Types,
    output: tuple[list[int], DType],
    constants: Mapping[int, Array] | None = None,
) -> TosaProgram:
    """A file of one operator, loaded. Of its operands, `constants` are in the file."""
    data = constants or {}
    names = [f"x{number}" for number in range(len(inputs))]
    tensors = [TosaTensor(name, *type) for name, type in zip([*names, "y"], [*inputs, output], strict=True)]
    for number, array in data.items():
        tensors[number].data = array.tobytes() + bytes(-array.nbytes % 8)
    operators = [TosaOperator(Op.CONST, ATTRIBUTES[Op.CONST](), [], [names[number]]) for number in data]
    operators.append(TosaOperator(op, attribute, names, ["y"]))
    given = [name for number, name in enumerate(names) if number not in data]
    block = TosaBasicBlock("main", operators, tensors, given, ["y"])
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


@pytest.mark.parametrize("zero", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("op", [Op.CONV2D, Op.DEPTHWISE_CONV2D, Op.TRANSPOSE_CONV2D])
def test_constant_zero_points_of_floats(op: Op, zero: float) -> None:
    """They bound nothing, and are subtracted as those that are computed."""
    x, weight, bias = (np.ones(sizes, np.float32) for sizes in ((1, 2, 2, 1), (1, 1, 1, 1), (1,)))
    zeros = np.array([zero], np.float32), np.zeros(1, np.float32)
    attribute: Any = (
        TransposeConv2dAttribute([0] * 4, [1, 1], acc_type=DType.FP32)
        if op is Op.TRANSPOSE_CONV2D
        else {Op.CONV2D: Conv2dAttribute, Op.DEPTHWISE_CONV2D: DepthwiseConv2dAttribute}[op](
            pad=[0] * 4, stride=[1, 1], dilation=[1, 1], acc_type=DType.FP32
        )
    )
    arrays = [x, weight, bias, *zeros]
    types: Types = [(list(array.shape), DType.FP32) for array in arrays]
    computed, known = (
        program(op, attribute, types, ([1, 2, 2, 1], DType.FP32), constants).run(given)
        for constants, given in (({}, arrays), (dict(enumerate(arrays[1:], 1)), arrays[:1]))
    )
    np.testing.assert_array_equal(known, computed)


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("dilation", [1, 2])
@pytest.mark.parametrize("pad", [[0, 0, 0, 0], [1, 0, 2, 3], [0, 1, 7, 0]])
def test_strides_of_depthwise_convolutions(pad: list[int], dilation: int, stride: int, known: bool) -> None:
    """Also windows that lie in the padding as a whole."""
    channels, multiplier, rows, columns = 3, 2, 2, 3
    random = np.random.default_rng(0)
    # Sizes of the padded image for which windows end with it.
    high, wide = dilation * (rows - 1) + 1 + 2 * stride, dilation * (columns - 1) + 1 + 6 * stride
    image = [2, high - pad[0] - pad[1], wide - pad[2] - pad[3], channels]
    shapes = (image, [rows, columns, channels, multiplier], [channels * multiplier], [1], [1])
    x, weight, bias, *zeros = (random.integers(-9, 9, shape).astype(np.float32) for shape in shapes)
    expected = np.zeros((2, 3, 7, channels, multiplier), np.float32)
    padded = np.pad(x - zeros[0], ((0, 0), tuple(pad[:2]), tuple(pad[2:]), (0, 0)))
    for y in range(rows):
        for z in range(columns):
            part = padded[:, y * dilation :: stride, z * dilation :: stride][:, :3, :7]
            expected += part[..., None] * (weight[y, z] - zeros[1])
    arrays = [x, weight, bias, *zeros]
    types: Types = [(list(array.shape), DType.FP32) for array in arrays]
    constants = dict(enumerate(arrays[1:], 1)) if known else {}
    attribute = DepthwiseConv2dAttribute(pad, [stride] * 2, [dilation] * 2, acc_type=DType.FP32)
    loaded = program(Op.DEPTHWISE_CONV2D, attribute, types, ([2, 3, 7, 6], DType.FP32), constants)
    (made,) = loaded.run(arrays[:1] if known else arrays)
    np.testing.assert_array_equal(made, expected.reshape(2, 3, 7, 6) + bias)


@pytest.mark.parametrize("shift", [-1, 64])
def test_shifts_of_products_out_of_range(shift: int) -> None:
    types: Types = [([2], DType.INT32), ([2], DType.INT32), ([1], DType.INT8)]
    loaded = program(Op.MUL, ATTRIBUTES[Op.MUL](), types, ([2], DType.INT32))
    ones = np.ones(2, np.int32)
    (made,) = loaded.run([-3 * ones, ones, np.array([1], np.int8)])
    assert made.tolist() == [-1, -1]
    with pytest.raises(ExecutorchError, match=r"MUL: .*a shift is not from 0 to 63") as caught:
        loaded.run([ones, ones, np.array([shift], np.int8)])
    assert caught.value.code is Error.InvalidArgument


def _rescaled(shape: list[int], source: DType, target: DType, *, per_channel: bool = False) -> TosaProgram:
    attribute = RescaleAttribute(True, RoundingMode.SINGLE_ROUND, per_channel, False, False)
    one = [1]
    types: Types = [(shape, source), (one, DType.INT32), (one, DType.INT8), (one, source), (one, target)]
    return program(Op.RESCALE, attribute, types, (shape, target))


def _transposed(stride: int) -> TosaProgram:
    types: Types = [([1, 1, 1, 1], DType.FP32)] * 2 + [([1], DType.FP32)] * 3
    attribute = TransposeConv2dAttribute([0] * 4, [stride, 1], acc_type=DType.FP32)
    return program(Op.TRANSPOSE_CONV2D, attribute, types, ([1, 1, 1, 1], DType.FP32))


def _convolved(source: DType, weight: DType) -> TosaProgram:
    image = [1, 1, 1, 1]
    types: Types = [(image, source), (image, weight), ([1], DType.INT32), ([1], source), ([1], weight)]
    attribute = Conv2dAttribute([0] * 4, [1, 1], [1, 1], acc_type=DType.INT32)
    return program(Op.CONV2D, attribute, types, (image, DType.INT32))


@pytest.mark.parametrize(
    ("load", "message"),
    [
        (lambda: _rescaled([2], DType.FP32, DType.INT8), "RESCALE takes .*, not FP32"),
        (lambda: _rescaled([2], DType.INT8, DType.FP32), "a result of type FP32"),
        (lambda: _rescaled([], DType.INT8, DType.INT8, per_channel=True), "no dimensions"),
        (lambda: _transposed(0), "stride"),
        (lambda: _transposed(-1), "stride"),
        (lambda: _convolved(DType.INT8, DType.INT32), "weights of type INT32"),
        (lambda: _convolved(DType.INT32, DType.INT32), "CONV2D takes .*, not INT32"),
    ],
)
def test_operators_that_the_specification_does_not_have(
    load: Callable[[], TosaProgram], message: str
) -> None:
    with pytest.raises(InvalidFile, match=message):
        load()


FLOATS = {DType.FP32, DType.FP16, DType.BF16}
INTEGERS = {DType.INT8, DType.INT16, DType.INT32}
TAKEN = {
    "CEIL COS ERF EXP FLOOR LOG POW RECIPROCAL RSQRT SIGMOID SIN TANH REDUCE_PRODUCT": FLOATS,
    "ABS ADD SUB MAXIMUM MINIMUM EQUAL GREATER GREATER_EQUAL REDUCE_SUM": FLOATS | {DType.INT32},
    "REDUCE_MAX REDUCE_MIN": FLOATS | INTEGERS,
    "BITWISE_AND BITWISE_NOT BITWISE_OR BITWISE_XOR LOGICAL_LEFT_SHIFT LOGICAL_RIGHT_SHIFT": INTEGERS,
    "CLZ INTDIV": {DType.INT32},
    "LOGICAL_AND LOGICAL_NOT LOGICAL_OR LOGICAL_XOR REDUCE_ALL REDUCE_ANY": {DType.BOOL},
}
"""Element types of operators, by the tables of the specification."""


@pytest.mark.parametrize(
    ("name", "taken"), [(one, types) for names, types in TAKEN.items() for one in names.split()]
)
def test_element_types_of_the_specification(name: str, taken: set[DType]) -> None:
    op = Op[name]
    for dtype in {DType.BOOL, *INTEGERS, *FLOATS}:
        operands = [TosaType((2,), dtype)] * len(OPERANDS[op])
        if dtype in taken:
            assert result_of(op, ATTRIBUTES[op](), operands, dtype).shape in ((2,), (1,))
        else:
            with pytest.raises(ValueError, match=f"{name} takes .*, not {dtype.name}"):
                result_of(op, ATTRIBUTES[op](), operands, dtype)


@pytest.mark.parametrize("values", [(None, None), (b"", b"\0\0\x80?"), (b"\0\0\x80?", b"\0\0\x80")])
def test_clamps_without_values(values: tuple[bytes | None, bytes | None]) -> None:
    attribute = ClampAttribute(*values, NanPropagationMode.PROPAGATE)
    vector = ([2], DType.FP32)
    with pytest.raises(InvalidFile, match=r"CLAMP: m.._val has \d bytes, an element has 4") as caught:
        program(Op.CLAMP, attribute, [vector], vector)
    assert caught.value.code is Error.DelegateInvalidCompatibility


def test_inputs_that_are_no_tensors() -> None:
    """Though an operator reads them."""
    operator = TosaOperator(Op.ABS, ATTRIBUTES[Op.ABS](), ["x"], ["y"])
    block = TosaBasicBlock("main", [operator], [TosaTensor("y", [2], DType.FP32)], ["x"], ["y"])
    blob = serialize_tosa(TosaGraph(Version(1, 0, 0, False), [TosaRegion("main", [block])]))
    with pytest.raises(InvalidFile, match="no tensor is named 'x'"):
        read_tosa(blob)


def test_shapes_of_many_numbers() -> None:
    """Those that share their numbers in a file would be any number of them in memory."""
    shape = TosaShape("s", 17, bytes(8 * 17))
    operators = [TosaOperator(Op.CONST_SHAPE, ATTRIBUTES[Op.CONST_SHAPE](), [], ["s"])]
    block = TosaBasicBlock("main", operators, [TosaTensor("x", [2], DType.FP32)], ["x"], ["x"], [shape])
    blob = serialize_tosa(TosaGraph(Version(1, 0, 0, False), [TosaRegion("main", [block])]))
    with pytest.raises(InvalidFile, match="a shape of 17 numbers; the limit is 16"):
        read_tosa(blob)
