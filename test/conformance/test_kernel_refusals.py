"""A call that upstream's kernel refuses is one that et-vm refuses: wrong types, layouts, numbers and flags.

Each row is an operator with arguments of which one is changed in turn; both runtimes are asked about every change. What
one refuses the other refuses, but for `DIFFERENCES`. A file that runs here then runs there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from kernel_files import KernelCall, on_stock, on_vm
from kernel_oracle import brief, returns_list
from stock import StockRuntime

TYPES = (
    torch.bool,
    torch.uint8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
)
FLOATS = torch.tensor([[0.5, -1.5, 2.0, 0.0], [3.0, 1.0, -2.5, 1.25]])
INTEGERS = torch.tensor([[0, 1, 2, 3], [4, 2, 0, 1]])
IMAGE = torch.arange(2.0 * 4 * 6 * 8).reshape(2, 4, 6, 8) / 100
ROW = torch.arange(4.0)

DIFFERENCES = {
    "aten::add.Scalar_out(int64[2, 4], 1.5, 1)": "torch adds a fraction to integers; upstream does not",
    "aten::add.Scalar_out(uint8[2, 4], 1.5, 1)": "torch adds a fraction to integers; upstream does not",
    "aten::scalar_tensor.out(65536) -> float16[]": "torch makes an infinity of it",
    "aten::scalar_tensor.out(1099511627776) -> float16[]": "torch makes an infinity of it",
    "aten::scalar_tensor.out(1e+40) -> float16[]": "torch makes an infinity of it",
    "aten::scalar_tensor.out(-1e+300) -> float16[]": "torch makes an infinity of it",
    "aten::leaky_relu.out(float16[2, 4], 65536)": "torch takes it, as it computes in float32",
    "aten::leaky_relu.out(float16[2, 4], 1099511627776)": "torch takes it, as it computes in float32",
    "aten::clone.out(float32[2, 4, 6, 8], 1)": "torch's preserve_format, which says nothing",
    "aten::_to_copy.out(float32[2, 4, 6, 8], False, 1)": "torch's preserve_format, which says nothing",
    "aten::masked_fill.Scalar_out(uint8[2, 4], bool[2, 4], 300)": "torch refuses it; upstream wraps around",
    "aten::masked_fill.Scalar_out(uint8[2, 4], bool[2, 4], 1e+40)": "torch refuses it; in C++ it is undefined",
    "aten::masked_fill.Scalar_out(uint8[2, 4], bool[2, 4], inf)": "torch refuses it; in C++ it is undefined",
    "aten::masked_fill.Scalar_out(int64[2, 4], bool[2, 4], 1e+40)": "torch refuses it; in C++ it is undefined",
    "aten::masked_fill.Scalar_out(int64[2, 4], bool[2, 4], inf)": "torch refuses it; in C++ it is undefined",
    "aten::masked_fill.Scalar_out(float32[2, 4], bool[2, 4], 1e+40)": "torch refuses it; upstream makes it infinite",
}
"""Calls, or what they begin with, that one of the two refuses, and why."""


def call(operator: str, *arguments: object, out: torch.Tensor | tuple[torch.Tensor, ...]) -> KernelCall:
    outs = out if isinstance(out, tuple) else (out,)
    return KernelCall(operator, arguments, outs, returns_list(operator))


def of_one_tensor(x: torch.Tensor) -> Iterator[KernelCall]:
    """Calls on `x` of every family whose kernels look at the type of `out`."""
    for name in ("abs", "ceil", "floor", "round", "trunc", "neg", "relu", "sign"):
        if x.dtype != torch.bool:
            yield call(f"aten::{name}.out", x, out=x)
    yield from (call(f"aten::{name}.out", x, out=x > 0) for name in ("isinf", "isnan", "logical_not"))
    yield from (call(f"aten::{name}.out", x, out=x.float()) for name in ("sin", "exp", "sqrt", "sigmoid"))
    yield call("aten::clamp.out", x, 0, 2, out=x)
    yield call("aten::hardtanh.out", x, 0, 2, out=x)
    yield call("aten::fill.Scalar_out", x, 1, out=x)
    yield call("aten::full_like.out", x, 1, None, out=x)
    yield call("aten::masked_fill.Scalar_out", x, x > 1, 2, out=x)
    yield call("aten::add.Scalar_out", x, 1, 1, out=x)
    yield call("aten::sub.Scalar_out", x, 1, 1, out=x)
    yield call("aten::rsub.Scalar_out", x, 1, 1, out=x)
    yield call("aten::mul.Scalar_out", x, 2, out=x)
    yield call("aten::div.Scalar_out", x, 2, out=x.float())
    yield call("aten::add.out", x, x, 1, out=x)
    yield call("aten::sub.out", x, x, 1, out=x)
    yield call("aten::mul.out", x, x, out=x)
    yield call("aten::eq.Scalar_out", x, 1, out=x > 0)
    yield call("aten::prod.out", x, None, out=x.prod())
    yield call("aten::prod.int_out", x, 0, False, None, out=x.prod(0))
    yield call("aten::sum.IntList_out", x, [0], False, None, out=x.sum(0))
    yield call("aten::cumsum.out", x, 0, None, out=x.cumsum(0))
    yield call("aten::max.unary_out", x, out=x.max())
    yield call("aten::min.unary_out", x, out=x.min())
    yield call("aten::amax.out", x, [0], False, out=x.amax(0))
    yield call("aten::argmax.out", x, 0, False, out=x.argmax(0))
    yield call("aten::any.dims_out", x, [], False, out=x > 0)
    yield call("aten::any.dims_out", x, [0], False, out=x.any(0))
    yield call("aten::repeat.out", x, [1, 2], out=x.repeat(1, 2))
    yield call("aten::split_with_sizes_copy.out", x, [1, 1], 0, out=(x[:1], x[1:]))
    yield call("aten::unfold_copy.out", x, 0, 2, 2, out=x.unfold(0, 2, 2))
    yield call("aten::add.Scalar_out", x, 1.5, 1, out=x + 1.5)
    if x.dtype.is_floating_point:
        yield call("aten::gelu.out", x, "none", out=x)
        yield call("aten::elu.out", x, 1.0, 1.0, 1.0, out=x)
        yield call("aten::leaky_relu.out", x, 0.1, out=x)
        yield call("aten::glu.out", x, 0, out=x[:1])
        yield call("aten::mean.out", x, [0], False, None, out=x.mean(0))


def with_other_types(given: KernelCall) -> Iterator[KernelCall]:
    for dtype in TYPES:
        yield replace(given, outs=tuple(out.to(dtype) for out in given.outs))


NUMBERS = (
    True,
    -1,
    255,
    256,
    -129,
    300,
    65536,
    2**40,
    1.5,
    -1.5,
    1e40,
    -1e300,
    math.inf,
    -math.inf,
    math.nan,
)


def with_numbers() -> Iterator[KernelCall]:
    """Calls with numbers that the type of the tensor may not hold."""
    bytes_, small = INTEGERS.to(torch.uint8), INTEGERS.to(torch.int8)
    for number in NUMBERS:
        for x in (FLOATS, FLOATS.double(), FLOATS.half(), INTEGERS, bytes_, small):
            yield call("aten::fill.Scalar_out", x, number, out=x)
            yield call("aten::full_like.out", x, number, None, out=x)
            yield call("aten::full.out", [2, 4], number, out=x)
            yield call("aten::scalar_tensor.out", number, out=x[0, 0])
            yield call("aten::constant_pad_nd.out", x, [1, 1], number, out=torch.cat([x, x[:, :2]], 1))
            yield call("aten::hardtanh.out", x, 0, number, out=x)
            yield call("aten::hardtanh.out", x, number, 2, out=x)
        for x in (FLOATS, FLOATS.double(), FLOATS.half()):
            yield call("aten::clamp.out", x, None, number, out=x)
            yield call("aten::clamp.out", x, number, None, out=x)
            yield call("aten::leaky_relu.out", x, number, out=x)
            yield call("aten::add.out", x, x, number, out=x)
            for name in ("add", "sub", "rsub"):
                yield call(f"aten::{name}.Scalar_out", x, 1, number, out=x)
    for number in (300, 1e40, math.inf):
        for x in (FLOATS, INTEGERS, bytes_):
            yield call("aten::masked_fill.Scalar_out", x, x > 1, number, out=x)


def channels_last(value: object) -> object:
    if isinstance(value, torch.Tensor) and value.dim() == 4:
        return value.to(memory_format=torch.channels_last)
    return [channels_last(item) for item in value] if isinstance(value, list) else value


def of_images() -> Iterator[KernelCall]:
    """Calls on images, of the families of kernels that look at the layout of `out`, and of those that do not."""
    x = IMAGE
    for name in ("abs", "sin", "exp", "relu", "neg", "sigmoid", "round", "lift_fresh_copy", "alias_copy"):
        yield call(f"aten::{name}.out", x, out=x)
    yield call("aten::isnan.out", x, out=x > 0)
    yield call("aten::gelu.out", x, "none", out=x)
    yield call("aten::add.out", x, x, 1, out=x)
    yield call("aten::maximum.out", x, x, out=x)
    yield call("aten::where.self_out", x > 1, x, x, out=x)
    yield call("aten::clamp.out", x, 0, 1, out=x)
    yield call("aten::clone.out", x, None, out=x)
    yield call("aten::cat.out", [x, x], 1, out=torch.cat([x, x], 1))
    yield call("aten::permute_copy.out", x, [0, 1, 3, 2], out=x.permute(0, 1, 3, 2).contiguous())
    yield call("aten::flip.out", x, [1], out=x)
    yield call("aten::slice_copy.Tensor_out", x, 1, 0, 2, 1, out=x[:, :2].contiguous())
    yield call("aten::narrow_copy.out", x, 1, 0, 2, out=x[:, :2].contiguous())
    yield call("aten::_softmax.out", x, 1, False, out=x)
    yield call("aten::_log_softmax.out", x, 1, False, out=x)
    yield call("aten::amax.out", x, [2], True, out=x.amax([2], True))
    yield call("aten::var.correction_out", x, [2], 1, True, out=x.var([2], keepdim=True))
    yield call("aten::prod.int_out", x, 2, True, None, out=x.prod(2, True))
    yield call("aten::cumsum.out", x, 1, None, out=x)
    yield call("aten::gather.out", x, 1, torch.zeros_like(x, dtype=torch.int64), False, out=x)
    yield call("aten::pixel_unshuffle.out", x, 2, out=torch.pixel_unshuffle(x, 2))
    yield call("aten::replication_pad2d.out", x, [1, 1, 1, 1], out=torch.zeros(2, 4, 8, 10))
    yield call("aten::native_layer_norm.out", x, [8], None, None, 1e-5, out=(x, x[..., :1], x[..., :1]))
    weight = torch.ones(3, 4, 3, 3)
    convolution = (None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    yield call("aten::convolution.out", x, weight, *convolution, out=torch.zeros(2, 3, 4, 6))


def with_other_layouts(given: KernelCall) -> Iterator[KernelCall]:
    """`out` laid out as the operands are not. (Upstream has kernels for one layout, which is another matter.)"""
    yield given
    arguments = tuple(map(channels_last, given.arguments))
    outs = tuple(out.to(memory_format=torch.channels_last) if out.dim() == 4 else out for out in given.outs)
    yield replace(given, arguments=arguments)
    yield replace(given, outs=outs)


def with_flags() -> Iterator[KernelCall]:
    for flag in (False, True):
        yield call("aten::_to_copy.out", IMAGE, flag, None, out=IMAGE)
        yield call("aten::copy.out", FLOATS, FLOATS, flag, out=FLOATS)
        yield KernelCall("aten::copy_", (FLOATS, FLOATS, flag), (), overwrites=True)
        yield call("aten::expand_copy.out", ROW, [2, 4], flag, out=torch.zeros(2, 4))
        for name in ("_to_dim_order_copy", "_clone_dim_order"):
            yield call(f"dim_order_ops::{name}.out", FLOATS, flag, [0, 1], out=FLOATS)
    for memory_format in (None, 0, 1, 2, 3, 4, 9, -1):
        yield call("aten::_to_copy.out", IMAGE, False, memory_format, out=IMAGE)
        yield call("aten::clone.out", IMAGE, memory_format, out=IMAGE)
        yield call("aten::full_like.out", IMAGE, 1, memory_format, out=IMAGE)
        yield call("aten::empty.out", [2, 4], memory_format, out=FLOATS)
    for rank in (15, 16, 17):
        ones = [1] * (rank - 1)
        yield call("aten::repeat.out", ROW, [*ones, 2], out=torch.zeros(*ones, 8))


def of_empty_tensors() -> Iterator[KernelCall]:
    """Concatenations with tensors without elements, of any rank."""
    kinds = [FLOATS, *(torch.zeros(shape) for shape in ((0,), (0, 4), (2, 0), (5, 0), (0, 0, 0)))]
    for empty in kinds[1:]:
        for tensors in ([FLOATS, empty], [empty, FLOATS], [FLOATS, empty, FLOATS], [empty, FLOATS, kinds[1]]):
            for dim in (0, 1):
                full = [tensor for tensor in tensors if tensor.numel()]
                yield call("aten::cat.out", tensors, dim, out=torch.cat(full, dim))


def of_integer_images() -> Iterator[KernelCall]:
    """Resampled images of integers."""
    grid = torch.tensor([-1, 0, 1, 0, 1, 1, 0, 0, -1, 1, 0, -1]).reshape(1, 2, 3, 2)
    image = torch.arange(24).reshape(1, 1, 4, 6) * 5
    for dtype in (torch.uint8, torch.int8, torch.int32, torch.int64, torch.bool):
        for aligned in (False, True):
            if dtype.is_signed:
                for mode in (0, 1):
                    out = torch.zeros(1, 1, 2, 3, dtype=dtype)
                    yield call(
                        "aten::grid_sampler_2d.out",
                        image.to(dtype),
                        grid.to(dtype),
                        mode,
                        0,
                        aligned,
                        out=out,
                    )
            out = torch.zeros(1, 1, 5, 9, dtype=dtype)
            yield call("aten::upsample_bilinear2d.vec_out", image.to(dtype), [5, 9], aligned, None, out=out)


GROUPS = {
    "types of out": [
        other
        for x in (FLOATS, INTEGERS, INTEGERS.to(torch.uint8))
        for given in of_one_tensor(x)
        for other in with_other_types(given)
    ],
    "numbers": list(with_numbers()),
    "layouts": [other for given in of_images() for other in with_other_layouts(given)],
    "flags": list(with_flags()),
    "empty tensors": list(of_empty_tensors()),
    "integer images": list(of_integer_images()),
}


def described(given: KernelCall) -> str:
    arguments, outs = (", ".join(map(brief, values)) for values in (given.arguments, given.outs))
    return f"{given.operator}({arguments}) -> {outs}"


@pytest.mark.parametrize("group", GROUPS)
def test_what_one_refuses_the_other_refuses(group: str, stock: StockRuntime, tmp_path: Path) -> None:
    wrong: list[str] = []
    refused = 0
    for given in GROUPS[group]:
        file = given.file()
        ours, theirs = on_vm(file), on_stock(stock, file, tmp_path / "call.pte")
        refused += isinstance(theirs, str)
        if isinstance(ours, str) == isinstance(theirs, str):
            continue
        if described(given).startswith(tuple(DIFFERENCES)):
            continue
        reason = ours if isinstance(ours, str) else f"upstream: {theirs}"
        wrong.append(f"{described(given)}: {reason}")
    assert not wrong, "\n".join([f"{len(wrong)} of {len(GROUPS[group])}", *wrong])
    assert 0 < refused < len(GROUPS[group])


@pytest.mark.parametrize("name", ["empty tensors", "integer images"])
def test_what_both_take_has_one_result(name: str, stock: StockRuntime, tmp_path: Path) -> None:
    for given in GROUPS[name]:
        file = given.file()
        ours, theirs = on_vm(file), on_stock(stock, file, tmp_path / "call.pte")
        # Bytes are rounded by torch's fixed point here, and truncated there.
        tolerance = 1 if given.outs[0].dtype == torch.uint8 else 0
        if not isinstance(ours, str) and not isinstance(theirs, str):
            torch.testing.assert_close(ours, theirs, rtol=0, atol=tolerance, msg=described(given))
