"""Quantized operators of ExecuTorch's Vulkan backend: weights are dequantized when the graph is loaded.

Activations of 8 bits are dequantized, computed with in f32, and quantized again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from et_backends.vulkan_graph.format import tables as v
from et_backends.vulkan_graph.runtime.affine import rounded_rows
from et_backends.vulkan_graph.runtime.plan import Composite, Plan, integers_of, misfit, number_of, registers
from et_schema import program as p
from et_schema.scalar_type import ScalarType
from et_vm.values import Array

__all__ = ["QUANTIZED"]

_LEAST, _MOST = -128, 127
_NIBBLE_OFFSET: Final = 8
"""Offset that makes the nibbles of signed 4-bit numbers positive."""


def _array(plan: Plan, register: int, rank: int) -> Array:
    """The elements of a constant. Raises InvalidFile for what is no constant of so many dimensions."""
    found = plan.array_of(register)
    if found.ndim != rank:
        raise misfit(f"expected a constant of {rank} dimensions, got sizes {list(found.shape)}")
    return found


def _restored(plan: Plan, numbers: Array, scales: Array) -> int:
    """The register of a constant of integers times scales. Raises InvalidFile for scales of another shape."""
    if np.broadcast_shapes(numbers.shape, scales.shape) != numbers.shape:
        raise misfit(f"scales {list(scales.shape)} of numbers {list(numbers.shape)}")
    plan.reserve(numbers.size * ScalarType.FLOAT.itemsize)
    made = np.multiply(numbers, scales, dtype=np.float32)
    data = memoryview(made.tobytes())
    return plan.constant(ScalarType.FLOAT, list(made.shape), data)


def _rows_of_nibbles(packed: Array, *, high_first: bool) -> Array:
    """Signed 4-bit numbers, two in each byte. Raises InvalidFile for elements that are no bytes."""
    if packed.dtype not in (np.uint8, np.int8):
        raise misfit(f"4-bit numbers in elements of type {packed.dtype.name}")
    packed = packed.view(np.uint8)
    high, low = (packed >> 4).astype(np.int8), (packed & 15).astype(np.int8)
    pairs = (high, low) if high_first else (low, high)
    return np.stack(pairs, axis=-1).reshape(len(packed), -1) - np.int8(_NIBBLE_OFFSET)


def _in_groups(numbers: Array, scales: Array, group: int | float | None) -> tuple[Array, Array]:
    """Integers and, for each, the scale of its group of neighbors in the row; `scales` has a row for each."""
    rows, columns = numbers.shape
    groups = scales.shape[-1]
    if not isinstance(group, int) or group <= 0 or scales.shape != (rows, groups) or groups * group < columns:
        raise misfit(f"groups of {group} of {columns} numbers with scales {list(scales.shape)}")
    # A group that says that it is longer than the row takes no more memory than the row.
    used = scales[:, : -(-columns // group)]
    return numbers, np.repeat(used, min(group, columns), axis=1)[:, :columns]


def _linear(plan: Plan, x: int, weight: int, bias: int, out: int) -> None:
    plan.compute("aten::linear.out", x, weight, bias, out=out)


def _grouped_linear(plan: Plan, x: int, arguments: Sequence[int], out: int) -> None:
    """A linear layer with 4-bit weights in groups: weights, scales (groups, rows), group size, bias."""
    weights, scales, group, bias = arguments
    columns = plan.sizes_of(x)[-1]
    numbers = _rows_of_nibbles(_array(plan, weights, 2), high_first=False)[:, :columns]
    rows = _array(plan, scales, 2).T[: len(numbers)]
    weight = _restored(plan, *_in_groups(numbers, rows, number_of(plan, group)))
    _linear(plan, x, weight, _bias(plan, bias, len(numbers)), out)


def linear_q4gsw(plan: Plan, graph: v.VkGraph, args: list[int], results: list[int]) -> None:
    """A linear layer of floats, with 4-bit weights in groups."""
    del graph
    x, *rest = registers(plan, args, 4, 5)
    _grouped_linear(plan, x, [*rest, plan.scalar(None)][:4], results[0])


def linear_dq8ca_q4gsw(plan: Plan, graph: v.VkGraph, args: list[int], results: list[int]) -> None:
    """The same on activations that are quantized row by row."""
    del graph
    x, scale, zero, weights, _, *rest = registers(plan, args, 7, 8)
    made = rounded_rows(plan, x, scale, zero)
    _grouped_linear(plan, made, [weights, *rest, plan.scalar(None)][:4], results[0])


def linear_q8csw(plan: Plan, graph: v.VkGraph, args: list[int], results: list[int]) -> None:
    """A linear layer with 8-bit weights that have a scale for each row."""
    del graph
    x, weights, scales = registers(plan, args, 3)
    weight = _restored(plan, _array(plan, weights, 2), _array(plan, scales, 1)[:, None])
    _linear(plan, x, weight, plan.scalar(None), results[0])


def linear_qcs4w(plan: Plan, graph: v.VkGraph, args: list[int], results: list[int]) -> None:
    """A linear layer with 4-bit weights that have a scale for each row."""
    del graph
    x, weights, scales = registers(plan, args, 3)
    numbers = _rows_of_nibbles(_array(plan, weights, 2), high_first=True)[:, : plan.sizes_of(x)[-1]]
    weight = _restored(plan, numbers, _array(plan, scales, 1)[:, None])
    _linear(plan, x, weight, plan.scalar(None), results[0])


def embedding_q4gsw(plan: Plan, graph: v.VkGraph, args: list[int], results: list[int]) -> None:
    """Rows of a table of 4-bit numbers in groups."""
    del graph
    weights, scales, group, indices, order = registers(plan, args, 5)
    is_linear = plan[order]
    if not isinstance(is_linear, p.Bool):
        raise misfit("is_linear_weight is not a bool")
    numbers = _rows_of_nibbles(_array(plan, weights, 2), high_first=not is_linear.bool_val)
    table = _restored(plan, *_in_groups(numbers, _array(plan, scales, 2), number_of(plan, group)))
    no = plan.scalar(False)
    plan.compute("aten::embedding.out", table, indices, plan.scalar(-1), no, no, out=results[0])


# -- activations of 8 bits


def _dequantized(plan: Plan, x: int, scale: int, zero_point: int) -> int:
    """8-bit activations as floats."""
    limits = plan.scalar(_LEAST), plan.scalar(_MOST), plan.scalar(int(plan.type_of(x)))
    made = plan.tensor(ScalarType.FLOAT, plan.sizes_of(x))
    kernel = "quantized_decomposed::dequantize_per_tensor.out"
    return plan.compute(kernel, x, _float(plan, scale), zero_point, *limits, plan.scalar(None), out=made)


def _quantize(plan: Plan, x: int, scale: int, zero_point: int, out: int) -> None:
    limits = plan.scalar(_LEAST), plan.scalar(_MOST), plan.scalar(int(plan.type_of(out)))
    kernel = "quantized_decomposed::quantize_per_tensor.out"
    plan.compute(kernel, x, _float(plan, scale), zero_point, *limits, out=out)


def _float(plan: Plan, register: int) -> int:
    """A number as a float. Equal integers and floats may be one value of a graph."""
    number = number_of(plan, register)
    if number is None:
        raise misfit("expected a number, got None")
    return plan.scalar(float(number))


def _activated(plan: Plan, x: int, activation: int) -> int:
    found = plan[activation]
    if not isinstance(found, p.String) or found.string_val not in ("none", "relu"):
        raise misfit(f"unknown activation {found}")
    if found.string_val == "none":
        return x
    return plan.compute("aten::relu.out", x, out=plan.tensor(ScalarType.FLOAT, plan.sizes_of(x)))


def _bias(plan: Plan, register: int, count: int) -> int:
    """A bias without its padding."""
    if isinstance(plan[register], p.Null):
        return register
    numbers = _array(plan, register, 1)[:count]
    return _restored(plan, numbers, np.ones_like(numbers))


def q8ta_linear(plan: Plan, graph: v.VkGraph, args: list[int], results: list[int]) -> None:
    """A linear layer of 8-bit activations and weights."""
    del graph
    x, scale, zero, weights, _, scales, out_scale, out_zero, bias, activation = registers(plan, args, 10)
    sizes = plan.sizes_of(results[0])
    rows, columns = sizes[-1], plan.sizes_of(x)[-1]
    numbers = _array(plan, weights, 2)[:rows, :columns]
    weight = _restored(plan, numbers, _array(plan, scales, 1)[:rows, None])
    made = plan.tensor(ScalarType.FLOAT, sizes)
    _linear(plan, _dequantized(plan, x, scale, zero), weight, _bias(plan, bias, rows), made)
    _quantize(plan, _activated(plan, made, activation), out_scale, out_zero, results[0])


def linear_q8ta_q8csw(plan: Plan, graph: v.VkGraph, args: list[int], results: list[int]) -> None:
    """A linear layer of 8-bit activations and weights, with results in floats."""
    del graph
    x, scale, zero, weights, _, scales, *rest = registers(plan, args, 6, 7)
    rows, columns = plan.sizes_of(results[0])[-1], plan.sizes_of(x)[-1]
    numbers = _array(plan, weights, 2)[:rows, :columns]
    weight = _restored(plan, numbers, _array(plan, scales, 1)[:rows, None])
    bias = _bias(plan, rest[0], rows) if rest else plan.scalar(None)
    _linear(plan, _dequantized(plan, x, scale, zero), weight, bias, results[0])


def q8ta_add(plan: Plan, graph: v.VkGraph, args: list[int], results: list[int]) -> None:
    """A sum of 8-bit activations."""
    del graph
    a, b, a_scale, a_zero, b_scale, b_zero, out_scale, out_zero, alpha = registers(plan, args, 9)
    made = plan.tensor(ScalarType.FLOAT, plan.sizes_of(results[0]))
    terms = _dequantized(plan, a, a_scale, a_zero), _dequantized(plan, b, b_scale, b_zero)
    plan.compute("aten::add.out", *terms, _float(plan, alpha), out=made)
    _quantize(plan, made, out_scale, out_zero, results[0])


def q8ta_relu(plan: Plan, graph: v.VkGraph, args: list[int], results: list[int]) -> None:
    """The positive part of 8-bit activations."""
    del graph
    x, scale, zero, out_scale, out_zero = registers(plan, args, 5)
    made = plan.tensor(ScalarType.FLOAT, plan.sizes_of(results[0]))
    plan.compute("aten::relu.out", _dequantized(plan, x, scale, zero), out=made)
    _quantize(plan, made, out_scale, out_zero, results[0])


def q8ta_pixel_shuffle(plan: Plan, graph: v.VkGraph, args: list[int], results: list[int]) -> None:
    """Channels of 8-bit activations as pixels; the scale of the result is given as its inverse."""
    del graph
    x, scale, zero, inverse, out_zero, factor = registers(plan, args, 6)
    number = number_of(plan, inverse)
    if not number:
        raise misfit(f"the inverse {number} of a scale")
    made = plan.tensor(ScalarType.FLOAT, plan.sizes_of(results[0]))
    plan.compute("aten::pixel_shuffle.out", _dequantized(plan, x, scale, zero), factor, out=made)
    _quantize(plan, made, plan.scalar(1 / number), out_zero, results[0])


def q8ta_conv2d(plan: Plan, graph: v.VkGraph, args: list[int], results: list[int]) -> None:
    """A convolution of 8-bit activations; rows of weights are of the kernel's rows, columns and channels, in order."""
    _of_windows(plan, graph, args, results, depthwise=False)


def q8ta_conv2d_dw(plan: Plan, graph: v.VkGraph, args: list[int], results: list[int]) -> None:
    """The same with a filter for each channel, which is the last dimension of the weights."""
    _of_windows(plan, graph, args, results, depthwise=True)


def q8ta_conv2d_transposed(plan: Plan, graph: v.VkGraph, args: list[int], results: list[int]) -> None:
    """A transposed convolution of 8-bit activations, with weights as of `q8ta_conv2d`. Groups share their scales."""
    if len(args) != 16:
        raise misfit(f"{len(args)} arguments, expected 16")
    kernel, stride, padding, adjusted, dilation = (integers_of(plan, graph, args[at]) for at in range(9, 14))
    rest = [plan.register_of(arg) for arg in (*args[:9], *args[14:])]
    count, (rows, columns) = _groups(plan, rest[9]), _window(plan, kernel)
    outputs, inner = plan.sizes_of(results[0])[1], plan.sizes_of(rest[0])[1] // count
    each = outputs // count
    flat = _array(plan, rest[3], 2)[:outputs, : rows * columns * inner]
    numbers = flat.reshape(count, each, rows, columns, inner).transpose(0, 4, 1, 2, 3)
    numbers = numbers.reshape(count * inner, each, rows, columns)
    weight = _restored(plan, numbers, _array(plan, rest[5], 1)[:each].reshape(1, each, 1, 1))
    _convolution(plan, rest, weight, (stride, padding, dilation, plan.scalar(True), adjusted), results[0])


def _of_windows(
    plan: Plan, graph: v.VkGraph, args: list[int], results: list[int], *, depthwise: bool
) -> None:
    if len(args) != 15:
        raise misfit(f"{len(args)} arguments, expected 15")
    kernel, stride, padding, dilation = (integers_of(plan, graph, args[at]) for at in range(9, 13))
    rest = [plan.register_of(arg) for arg in (*args[:9], *args[13:])]
    count, (rows, columns) = _groups(plan, rest[9]), _window(plan, kernel)
    outputs = plan.sizes_of(results[0])[1]
    if depthwise:
        numbers = _array(plan, rest[3], 3).transpose(2, 0, 1)[:outputs, None]
    else:
        inner = plan.sizes_of(rest[0])[1] // count
        flat = _array(plan, rest[3], 2)[:outputs, : rows * columns * inner]
        numbers = flat.reshape(outputs, rows, columns, inner).transpose(0, 3, 1, 2)
    weight = _restored(plan, numbers, _array(plan, rest[5], 1)[:outputs].reshape(-1, 1, 1, 1))
    whole = plan.scalar(False), plan.ints([0, 0])
    _convolution(plan, rest, weight, (stride, padding, dilation, *whole), results[0])


def _groups(plan: Plan, register: int) -> int:
    count = number_of(plan, register)
    if not isinstance(count, int) or count < 1:
        raise misfit(f"{count} groups")
    return count


def _window(plan: Plan, register: int) -> tuple[int, int]:
    """The rows and columns of a kernel."""
    table = plan[register]
    assert isinstance(table, p.IntList)
    sizes = [number_of(plan, item) for item in table.items]
    if len(sizes) != 2 or not all(isinstance(size, int) for size in sizes):
        raise misfit("the kernel's size is not known")
    rows, columns = sizes
    assert isinstance(rows, int)
    assert isinstance(columns, int)
    return rows, columns


def _convolution(plan: Plan, rest: Sequence[int], weight: int, how: Sequence[int], out: int) -> None:
    """A convolution of 8-bit activations by a restored weight.

    `rest` are the arguments without lists: those in front of them, groups and activation. `how` are stride, padding,
    dilation, whether it is transposed, and the padding of the result.
    """
    x, scale, zero, _, _, _, out_scale, out_zero, bias, groups, activation = rest
    sizes = plan.sizes_of(out)
    made = plan.tensor(ScalarType.FLOAT, sizes)
    operands = _dequantized(plan, x, scale, zero), weight, _bias(plan, bias, sizes[1])
    plan.compute("aten::convolution.out", *operands, *how, groups, out=made)
    _quantize(plan, _activated(plan, made, activation), out_scale, out_zero, out)


QUANTIZED: Final[dict[str, Composite]] = {
    "aten._weight_int8pack_mm.default": linear_q8csw,
    "et_vk.embedding_q4gsw.default": embedding_q4gsw,
    "et_vk.linear_dq8ca_q4gsw.default": linear_dq8ca_q4gsw,
    "et_vk.linear_q4gsw.default": linear_q4gsw,
    "et_vk.linear_q8ta_q8csw.default": linear_q8ta_q8csw,
    "et_vk.linear_qcs4w.default": linear_qcs4w,
    "et_vk.q8ta_add.default": q8ta_add,
    "et_vk.q8ta_conv2d.default": q8ta_conv2d,
    "et_vk.q8ta_conv2d_dw.default": q8ta_conv2d_dw,
    "et_vk.q8ta_conv2d_pw.default": q8ta_conv2d,
    "et_vk.q8ta_conv2d_transposed.default": q8ta_conv2d_transposed,
    "et_vk.q8ta_linear.default": q8ta_linear,
    "et_vk.q8ta_linear_gemv.default": q8ta_linear,
    "et_vk.q8ta_pixel_shuffle.default": q8ta_pixel_shuffle,
    "et_vk.q8ta_relu.default": q8ta_relu,
}
"""By what graphs call them."""
