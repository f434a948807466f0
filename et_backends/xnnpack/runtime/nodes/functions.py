"""Functions of one number, element by element. Halves are computed in float32, block by block."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from et_backends.xnnpack.format.graph import (
    XNNELU,
    Node1x1,
    XNNAbs,
    XNNCeiling,
    XNNClamp,
    XNNCos,
    XNNExp,
    XNNFloor,
    XNNGelu,
    XNNHardswish,
    XNNLeakyReLU,
    XNNLog,
    XNNNegate,
    XNNReciprocalSquareRoot,
    XNNSigmoid,
    XNNSin,
    XNNSoftmax,
    XNNSquare,
    XNNSquareRoot,
    XNNTanh,
)
from et_backends.xnnpack.runtime.grid import FLOAT32, Limits, clamp
from et_backends.xnnpack.runtime.nodes.declare import translates
from et_backends.xnnpack.runtime.site import Site
from et_schema.scalar_type import ScalarType
from et_vm.kernels.portable.pointwise.activation import elu_out, gelu_out, leaky_relu_out
from et_vm.kernels.portable.reduction.softmax import softmax_out
from et_vm.kernels.portable.steps import call, copy, filled
from et_vm.step import Step
from et_vm.values import Array, Tensor

Body: TypeAlias = Callable[[Array, Array], list[Step]]


def _plain(function: Callable[..., object]) -> Body:
    return lambda x, out: [call(function, x, out)]


def _reciprocal_square_root(x: Array, out: Array) -> list[Step]:
    return [call(np.sqrt, x, out), call(np.divide, filled(out.dtype, 1), out, out)]


def _sigmoid(x: Array, out: Array) -> list[Step]:
    return [
        call(np.negative, x, out),
        call(np.exp, out, out),
        call(np.add, out, filled(out.dtype, 1), out),
        call(np.divide, filled(out.dtype, 1), out, out),
    ]


def _hardswish(x: Array, out: Array) -> list[Step]:
    return [
        call(np.add, x, filled(out.dtype, 3), out),
        *clamp(out, Limits(0, 6), out),
        call(np.multiply, out, x, out),
        call(np.multiply, out, filled(out.dtype, 1 / 6), out),
    ]


_BODIES: dict[type, Body] = {
    XNNAbs: _plain(np.abs),
    XNNCeiling: _plain(np.ceil),
    XNNCos: _plain(np.cos),
    XNNExp: _plain(np.exp),
    XNNFloor: _plain(np.floor),
    XNNHardswish: _hardswish,
    XNNLog: _plain(np.log),
    XNNNegate: _plain(np.negative),
    XNNReciprocalSquareRoot: _reciprocal_square_root,
    XNNSigmoid: _sigmoid,
    XNNSin: _plain(np.sin),
    XNNSquare: _plain(np.square),
    XNNSquareRoot: _plain(np.sqrt),
    XNNTanh: _plain(np.tanh),
}

_KERNELS: dict[type, str] = {
    XNNAbs: "aten::abs.out",
    XNNCeiling: "aten::ceil.out",
    XNNCos: "aten::cos.out",
    XNNExp: "aten::exp.out",
    XNNFloor: "aten::floor.out",
    XNNHardswish: "aten::hardswish.out",
    XNNLog: "aten::log.out",
    XNNNegate: "aten::neg.out",
    XNNReciprocalSquareRoot: "aten::rsqrt.out",
    XNNSigmoid: "aten::sigmoid.out",
    XNNSin: "aten::sin.out",
    XNNSquareRoot: "aten::sqrt.out",
    XNNTanh: "aten::tanh.out",
}

_BLOCK = 1 << 14
"""Elements at a time: what several calls in a row read and write stays in the nearest cache."""


@translates(*_BODIES)
def function(site: Site, node: Node1x1) -> list[Step]:
    """One call, or a few of numpy on a block after the other. Scratch: two blocks, for halves."""
    x, out = _operands(site, node)
    body, name = _BODIES[type(node)], _KERNELS.get(type(node))
    flat, result = x.array.reshape(-1), out.array.reshape(-1)
    count = len(body(flat[:0], result[:0]))
    compiled = site.compiled_if_large(count * out.numel, name, x, out)
    if compiled is not None:
        return compiled
    if FLOAT32 in (x.dtype, out.dtype) and x.dtype == out.dtype:
        return _in_blocks(body, flat, result)
    calls: list[Step] = []
    wide, made = (site.ctx.scratch(min(_BLOCK, flat.size), FLOAT32) for _ in range(2))
    for start in range(0, flat.size, _BLOCK):
        part = flat[start : start + _BLOCK]
        block = wide[: part.size], made[: part.size]
        calls.append(copy(part, block[0]))
        calls += body(*block)
        calls.append(copy(block[1], result[start : start + _BLOCK]))
    return calls


def _in_blocks(body: Body, x: Array, out: Array) -> list[Step]:
    if len(body(x[:0], out[:0])) == 1:
        return body(x, out)
    calls: list[Step] = []
    for start in range(0, x.size, _BLOCK):
        calls += body(x[start : start + _BLOCK], out[start : start + _BLOCK])
    return calls


@translates(XNNClamp)
def clamped(site: Site, node: Node1x1) -> list[Step]:
    """The limits are all that there is to the node."""
    x, out = _operands(site, node)
    calls: list[Step] = []
    x = site.converted(x, out.scalar_type, calls)
    limits = site.take_limits()
    steps = site.clamped(x, limits, out) if limits is not None else []
    return [*calls, *(steps or [copy(x.array, out.array)])]


@translates(XNNELU)
def elu(site: Site, node: XNNELU) -> list[Step]:
    """x, and alpha * (exp(x) - 1) of what is negative."""
    return _by_kernel(
        site, node, lambda x, out: site.kernel("aten::elu.out", elu_out, x, node.alpha, 1, 1, out)
    )


@translates(XNNGelu)
def gelu(site: Site, node: Node1x1) -> list[Step]:
    """x times how probable a normally distributed number is to be less."""
    return _by_kernel(site, node, lambda x, out: site.kernel("aten::gelu.out", gelu_out, x, "none", out))


@translates(XNNLeakyReLU)
def leaky_relu(site: Site, node: XNNLeakyReLU) -> list[Step]:
    """x, and x times the slope if it is negative."""
    name, slope = "aten::leaky_relu.out", node.negative_slope
    return _by_kernel(site, node, lambda x, out: site.kernel(name, leaky_relu_out, x, slope, out))


@translates(XNNSoftmax)
def softmax(site: Site, node: Node1x1) -> list[Step]:
    """Along the last dimension."""
    site.check(bool(site.operand(node.input_id).sizes), "input", "a dimension", [])
    return _by_kernel(
        site, node, lambda x, out: site.kernel("aten::_softmax.out", softmax_out, x, -1, False, out)
    )


def _by_kernel(
    site: Site, node: Node1x1 | XNNELU | XNNLeakyReLU, prepare: Callable[[Tensor, Tensor], list[Step]]
) -> list[Step]:
    x, out = _operands(site, node)
    calls: list[Step] = []
    x = site.converted(x, out.scalar_type, calls)
    return calls + prepare(x, out)


def _operands(site: Site, node: Node1x1 | XNNELU | XNNLeakyReLU) -> tuple[Tensor, Tensor]:
    x = site.operand(node.input_id)
    # The last step of this one reads the operand.
    over = () if isinstance(node, XNNHardswish) else (x,)
    out = site.result(node.output_id, x.sizes, over=over)
    integers = ScalarType.INT in (x.scalar_type, out.scalar_type)
    site.check(not integers, "input", "real numbers", "integers")
    return x, out
