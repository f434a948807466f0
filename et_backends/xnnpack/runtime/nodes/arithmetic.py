"""Binary elementwise nodes, with numpy's broadcasting."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from et_backends.xnnpack.format.graph import (
    Node2x1,
    XNNAdd,
    XNNDiv,
    XNNMaximum,
    XNNMinimum,
    XNNMultiply,
    XNNPReLU,
    XNNSubtract,
)
from et_backends.xnnpack.runtime.nodes.declare import translates
from et_backends.xnnpack.runtime.site import Site
from et_vm.kernels.portable.steps import call, filled
from et_vm.step import Step
from et_vm.values import Tensor

_FUNCTIONS: dict[type, Callable[..., object]] = {
    XNNAdd: np.add,
    XNNSubtract: np.subtract,
    XNNMultiply: np.multiply,
    XNNDiv: np.divide,
    XNNMinimum: np.minimum,
    XNNMaximum: np.maximum,
}
_KERNELS: dict[type, str] = {
    XNNAdd: "aten::add.out",
    XNNSubtract: "aten::sub.out",
    XNNMultiply: "aten::mul.out",
    XNNDiv: "aten::div.out",
    XNNMinimum: "aten::minimum.out",
    XNNMaximum: "aten::maximum.out",
}


@translates(*_FUNCTIONS)
def binary(site: Site, node: Node2x1) -> list[Step]:
    """One call."""
    a, b, out, calls = _operands(site, node)
    scale = (1,) if isinstance(node, (XNNAdd, XNNSubtract)) else ()
    name = _KERNELS[type(node)]
    compiled = site.compiled_if_large(out.numel, name, a, b, *scale, out)
    if compiled is not None:
        return calls + compiled
    return [*calls, call(_FUNCTIONS[type(node)], a.array, b.array, out.array)]


@translates(XNNPReLU)
def prelu(site: Site, node: Node2x1) -> list[Step]:
    """x above 0, and else slope * x, a slope for each channel. Scratch: what is above 0."""
    x, slope, out, calls = _operands(site, node)
    zero = filled(out.dtype, 0)
    kept = site.ctx.scratch(out.sizes, np.dtype(np.bool_))
    return [
        *calls,
        call(np.greater, x.array, zero, kept),
        # Also where x is kept, which no slope may change: 0 times an infinite one is not a number.
        call(np.multiply, x.array, slope.array, out.array),
        (np.copyto, (out.array, x.array, "same_kind", kept)),
    ]


def _operands(site: Site, node: Node2x1) -> tuple[Tensor, Tensor, Tensor, list[Step]]:
    a, b = site.operand(node.input1_id), site.operand(node.input2_id)
    rank = max(len(a.sizes), len(b.sizes))
    sizes: list[int] = []
    for left, right in zip(
        (1,) * (rank - len(a.sizes)) + a.sizes, (1,) * (rank - len(b.sizes)) + b.sizes, strict=True
    ):
        site.check(left == right or 1 in (left, right), "input2", f"a shape beside {list(a.sizes)}", b.sizes)
        sizes.append(left if right == 1 else right)
    over = (
        []
        if isinstance(node, XNNPReLU)
        else [operand for operand in (a, b) if operand.numel == math.prod(sizes)]
    )
    out = site.result(node.output_id, sizes, over=over)
    calls: list[Step] = []
    return (
        site.converted(a, out.scalar_type, calls),
        site.converted(b, out.scalar_type, calls),
        out,
        calls,
    )
