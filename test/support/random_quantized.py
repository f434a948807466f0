"""Random quantized programs at the edge level, with what they say of real numbers, in double precision."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from et_ir.data import Blob
from et_ir.dialects.edge import OP_BY_NAME as EDGE
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.program import GetOp, Globals
from et_ir.dialects.schema.dtypes import attr_of
from et_ir.dialects.schema.tensors import sized_tensor, tensor_type
from et_ops.dtypes import BY_NAME

Array = np.ndarray[Any, Any]
Values = dict[SSAValue, Array]
Real = Callable[[Values], Array]
NAMES = {"float32": "f32", "int8": "i8", "int64": "i64", "int32": "i32", "float64": "f64"}


@dataclass
class Stage:
    """A quantized result and its reference: the real numbers, in steps of the result, from the arrays of the run."""

    result: SSAValue
    steps: Real
    zero_point: int
    exact: bool
    floats: bool
    """Whether f32 arithmetic is part of it: a function from a table, or what stays in floats."""
    slack: float = 0.0
    """Steps by which a real number is off where a bias is rounded to the grid of the sums of products."""


@dataclass
class Program:
    """A program under construction: its last value is of integers of 8 bits with a scale and a zero point."""

    rng: np.random.Generator
    module: ModuleOp = field(default_factory=lambda: ModuleOp([]))
    block: Block = field(default_factory=Block)
    stages: list[Stage] = field(default_factory=list)
    inputs: list[Array] = field(default_factory=list)
    grid: float = 0.0
    """Twice the most by which the bias of the last operator may be off where it is rounded to the grid of its sums."""

    def add(self, op: Operation) -> SSAValue:
        self.block.add_op(op)
        return op.results[0]

    def constant(self, array: Array) -> SSAValue:
        array = np.ascontiguousarray(array)
        type = sized_tensor(attr_of(BY_NAME[NAMES[array.dtype.name]]), array.shape)
        made = Globals(self.module).add_constant("c", type, Blob.of("c", array.tobytes()))
        return self.add(GetOp(made.key, type))

    def input(self, array: Array) -> SSAValue:
        self.inputs.append(array)
        return self.block.insert_arg(sized_tensor(attr_of(BY_NAME["i8"]), array.shape), len(self.inputs) - 1)

    def scale(self, exact: bool, least: float = 1e-6, most: float = 1e3) -> float:
        number = float(math.exp(self.rng.uniform(math.log(least), math.log(most))))
        return 2.0 ** round(math.log2(number)) if exact else number

    def restored(self, value: SSAValue, scale: float, zero_point: int) -> SSAValue:
        limits = (-128, 127, BY_NAME["i8"])
        return self.add(
            EDGE["quantized_decomposed.dequantize_per_tensor"].make(value, scale, zero_point, *limits)
        )

    def quantized(self, value: SSAValue, scale: float, zero_point: int) -> SSAValue:
        limits = (-128, 127, BY_NAME["i8"])
        return self.add(
            EDGE["quantized_decomposed.quantize_per_tensor"].make(value, scale, zero_point, *limits)
        )


def _integers(rng: np.random.Generator, shape: tuple[int, ...], least: int = -128) -> Array:
    return rng.integers(least, 128, shape).astype(np.int8)


def _convolved(x: Array, w: Array, stride: int, padding: int, groups: int) -> Array:
    padded = np.pad(x, [(0, 0), (0, 0), (padding, padding), (padding, padding)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, w.shape[2:], axis=(2, 3))[
        :, :, ::stride, ::stride
    ]
    n, _, h, v = windows.shape[:4]
    split = windows.reshape(n, groups, -1, h, v, *w.shape[2:])
    filters = w.reshape(groups, -1, *w.shape[1:])
    return np.einsum("ngchvij,gfcij->ngfhv", split, filters).reshape(n, -1, h, v)


def _layer(
    p: Program, value: SSAValue, shape: tuple[int, ...], scale: float, zero: int, exact: bool
) -> tuple[SSAValue, Real, bool]:
    """A product or a convolution; returns the op's result, real numbers from arrays, whether it stays in floats."""
    rng = p.rng
    by_tensor, transposed = rng.random() < 0.3, rng.random() < 0.2
    filters = int(rng.integers(1, 9))
    image = len(shape) == 4
    groups = int(rng.choice([1, shape[1]])) if image else 1
    filters *= groups
    kernel = int(rng.choice([1, min(3, *shape[2:])])) if image else 1
    kind = (filters, shape[1] // groups, kernel, kernel) if image else (filters, shape[-1])
    if transposed and not image:
        kind = kind[::-1]
    integers = _integers(rng, kind, -127)
    axis = 0 if image or not transposed else 1
    # Scales of another dimension than that of the filters: those products stay in floats.
    across = not by_tensor and groups == 1 and rng.random() < 0.15
    at = 1 - axis if across else axis
    q = EDGE["quantized_decomposed.dequantize_per_channel"]
    weights = p.constant(integers) if rng.random() < 0.5 else p.input(integers)
    if by_tensor:
        scales = np.array([p.scale(exact, 1e-4, 1e-1)])
        real = integers * scales
        w = p.restored(weights, float(scales[0]), 0)
    else:
        scales = np.array([p.scale(exact, 1e-4, 1e-1) for _ in range(kind[at])]).astype(np.float32)
        spread = scales.astype(np.float64).reshape([-1 if d == at else 1 for d in range(len(kind))])
        real = integers * spread
        zeros = p.constant(np.zeros(kind[at], np.int64))
        w = p.add(q.make(weights, p.constant(scales), zeros, at, -127, 127, BY_NAME["i8"]))
    bias = None if rng.random() < 0.3 else (rng.normal(size=filters) * scale).astype(np.float32)
    if bias is not None and exact:
        bias = np.asarray(2.0 ** np.round(np.log2(np.abs(bias) + 1e-30)), np.float32)
    b = None if bias is None else p.constant(bias)
    p.grid = 0.0 if bias is None else scale * float(scales.max())
    added = 0.0 if bias is None else bias.astype(np.float64)
    x = p.restored(value, scale, zero)
    if image:
        stride, padding = int(rng.integers(1, 3)), int(rng.integers(0, 1 + kernel // 2))
        result = p.add(
            edge.ConvolutionOp.make(x, w, b, (stride,) * 2, (padding,) * 2, (1, 1), False, (0, 0), groups)
        )
        added = np.reshape(added, (1, -1, 1, 1))

        def of_image(arrays: Values) -> Array:
            return _convolved((arrays[value] - float(zero)) * scale, real, stride, padding, groups) + added

        return result, of_image, across

    def matrix() -> SSAValue:
        return w if transposed else p.add(edge.PermuteCopyOp.make(w, (1, 0)))

    if len(shape) == 2 and (transposed or rng.random() < 0.5):
        result = p.add(edge.MmOp.make(x, matrix()) if b is None else edge.AddmmOp.make(b, x, matrix()))
    elif len(shape) == 2 or not transposed:
        result = p.add(edge.LinearOp.make(x, w, b))
    else:
        rows = int(np.prod(shape[:-1]))
        flat = p.add(edge.ViewCopyOp.make(x, (rows, shape[-1])))
        product = p.add(edge.MmOp.make(flat, matrix()))
        result = p.add(edge.ViewCopyOp.make(product, (*shape[:-1], filters)))
        result = result if b is None else p.add(edge.AddTensorOp.make(result, b))
    columns = real if transposed else real.T

    def of_rows(arrays: Values) -> Array:
        return (arrays[value] - float(zero)) * scale @ columns + added

    return result, of_rows, across


def _arithmetic(
    p: Program, value: SSAValue, shape: tuple[int, ...], scale: float, zero: int, exact: bool
) -> Any:
    kind = p.rng.choice(["add", "sub", "mul", "mean", "sigmoid", "same"])
    x = p.restored(value, scale, zero)

    def given(arrays: Values) -> Array:
        return (arrays[value] - float(zero)) * scale

    if kind == "same":  # a requantization
        return x, given, True
    if kind == "sigmoid":

        def sigmoid(arrays: Values) -> Array:
            return 0.5 + 0.5 * np.tanh(given(arrays) / 2)

        return p.add(edge.SigmoidOp.make(x)), sigmoid, True
    if kind == "mean":
        dims = (2, 3) if len(shape) == 4 else (len(shape) - 1,)
        result = p.add(edge.MeanDimOp.make(x, list(dims), True))

        def mean(arrays: Values) -> Array:
            return given(arrays).mean(dims, keepdims=True)

        return result, mean, False
    other_scale, other_zero = p.scale(exact, scale / 16, scale * 16), int(p.rng.integers(-128, 128))
    other = p.input(_integers(p.rng, shape))
    y = p.restored(other, other_scale, other_zero)
    cls, function = {
        "add": (edge.AddTensorOp, np.add),
        "sub": (edge.SubTensorOp, np.subtract),
        "mul": (edge.MulTensorOp, np.multiply),
    }[str(kind)]

    def of_two(arrays: Values) -> Array:
        return function(given(arrays), (arrays[other] - float(other_zero)) * other_scale)

    return p.add(cls.make(x, y)), of_two, False


def _grow(p: Program, value: SSAValue, scale: float, zero: int, exact: bool) -> tuple[SSAValue, float, int]:
    """One more quantized operator, maybe with a clamp and a move behind it."""
    rng, shape = p.rng, tensor_type(value).get_shape()
    form = _layer if rng.random() < 0.6 else _arithmetic
    p.grid = 0.0
    result, real, floats = form(p, value, shape, scale, zero, exact)
    probe = np.abs(real(_sample(p)))
    spread = float(np.percentile(probe, 90)) or scale
    # From all in the middle of the range to nearly all beyond it.
    out_scale = p.scale(exact, max(spread / 500, 1e-30), max(spread / 5, 1e-29))
    out_zero = int(rng.integers(-128, 128))
    bounds = (-np.inf, np.inf)
    if rng.random() < 0.4:
        bounds = (0.0, np.inf) if rng.random() < 0.5 else (0.0, 6 * out_scale * 8)
        clamp = (
            edge.ReluOp.make(result) if np.isinf(bounds[1]) else edge.HardtanhOp.make(result, 0.0, bounds[1])
        )
        result = p.add(clamp)
    quantized = p.quantized(result, out_scale, out_zero)

    def steps(arrays: Values) -> Array:
        return np.clip(real(arrays), *bounds) / out_scale

    p.stages.append(Stage(quantized, steps, out_zero, exact, floats, p.grid / out_scale / 2))
    return quantized, out_scale, out_zero


def _sample(p: Program) -> Values:
    """The values of a run, as the reference has them: of the scales of what comes next."""
    arrays: Values = dict(zip(p.block.args, p.inputs, strict=True))
    for stage in p.stages:
        levels = np.clip(np.rint(stage.steps(arrays)) + stage.zero_point, -128, 127)
        arrays[stage.result] = levels.astype(np.int8)
    return arrays


def random_program(seed: int) -> Program:
    """The program of a seed, of one to three operators, which are its results, and inputs of a run."""
    rng = np.random.default_rng(seed)
    p = Program(rng)
    exact = bool(rng.random() < 0.5)
    shapes = [(3, 12), (2, 3, 8), (1, 4, 6, 5), (2, 3, 5, 5)]
    shape = shapes[int(rng.integers(len(shapes)))]
    value = p.input(_integers(rng, shape))
    scale, zero = p.scale(exact), int(rng.integers(-128, 128))
    for _ in range(int(rng.integers(1, 4))):
        value, scale, zero = _grow(p, value, scale, zero, exact)
    results = [stage.result for stage in p.stages]
    p.block.add_op(ReturnOp(*results))
    types: list[Attribute] = [result.type for result in results]
    p.module.body.block.add_op(
        FuncOp("forward", ([arg.type for arg in p.block.args], types), Region(p.block))
    )
    return p


def check(stage: Stage, got: Array, arrays: Values, seed: int, *, in_single: bool = False) -> None:
    """Results are equal but for ties; of f32 arithmetic, `in_single`, but for what is near them."""
    steps = stage.steps(arrays)
    wanted = np.clip(np.rint(steps) + stage.zero_point, -128, 127)
    wrong = wanted != got
    if stage.floats or in_single:
        slack = (1e-3 if in_single else 1e-4) * (1 + np.abs(steps)) + stage.slack * in_single
        near = np.abs(np.abs(steps - np.rint(steps)) - 0.5) < slack
    else:
        near = np.abs(np.abs(steps - np.rint(steps)) - 0.5) < 1e-11 * (1 + np.abs(steps))
        near &= not stage.exact
    assert not (wrong & ~near).any(), f"seed {seed}: {got[wrong][:5]} for {steps[wrong][:5]}"
    assert np.abs(wanted - got).max(initial=0) <= 1
