"""Products of matrices."""

from __future__ import annotations

import numpy as np

from et_schema.generated.xnnpack import Node2x1, XNNBatchMatrixMultiply, XNNFullyConnected
from et_schema.scalar_type import ScalarType
from et_vm.kernels.portable.steps import call, copy
from et_vm.kernels.registry import Step
from et_vm.values import Array, Tensor
from et_vm.xnnpack.nodes.declare import translates
from et_vm.xnnpack.site import Site

TRANSPOSED = 1
"""Of a fully connected node: the filter is (inputs, outputs). Of a product: the second operand is transposed."""
FLATTENED = 4
"""Of a fully connected node: the output is a matrix whatever the input is."""


@translates(XNNFullyConnected)
def fully_connected(site: Site, node: XNNFullyConnected) -> list[Step]:
    """x W^T + b along the last dimension of x. Scratch, unless all is float32: what is not, in float32. Kept: a
    constant filter the other way round, with which BLAS takes two thirds of the time where there is more than one row.
    """
    calls: list[Step] = []
    x = site.operand(node.input1_id)
    weight, bias = site.operand(node.filter_id), site.optional(node.bias_id)
    site.check(len(weight.sizes) == 2, "filter", "a matrix", list(weight.sizes))
    outputs, inputs = weight.sizes[:: -1 if node.flags & TRANSPOSED else 1]
    flattened = bool(node.flags & FLATTENED)
    if flattened:
        site.check(inputs > 0 and x.numel % inputs == 0, "input1", f"rows of {inputs}", list(x.sizes))
        sizes = (x.numel // inputs, outputs)
    else:
        site.check(x.sizes[-1:] == (inputs,), "input1", f"rows of {inputs}", list(x.sizes))
        sizes = (*x.sizes[:-1], outputs)
    if bias is not None:
        site.check(bias.numel == outputs, "bias", f"{outputs} numbers", list(bias.sizes))
    out = site.result(node.output_id, sizes)
    if not out.numel:
        return []
    x = site.converted(x, ScalarType.FLOAT, calls)
    matrix = site.converted(weight, ScalarType.FLOAT, calls).array
    target = _float_target(site, out).reshape(-1, outputs)
    matrix = matrix if node.flags & TRANSPOSED else matrix.T
    rows = x.array.reshape(-1, inputs)
    if weight.constant and len(rows) > 1 and not matrix.flags.c_contiguous:
        turned = matrix
        matrix = site.ctx.memo(("turned", weight.version), lambda: np.ascontiguousarray(turned))
    calls.append((np.matmul, (rows, matrix, target)))
    if bias is not None:
        added = site.converted(bias, ScalarType.FLOAT, calls).array.reshape(-1)
        calls.append(call(np.add, target, added, target))
    return _stored(calls, target, out)


@translates(XNNBatchMatrixMultiply)
def batch_matrix_multiply(site: Site, node: Node2x1) -> list[Step]:
    """The products of the matrices in the last two dimensions; those before are broadcast."""
    a, b = site.operand(node.input1_id), site.operand(node.input2_id)
    site.check(len(a.sizes) >= 2, "input1", "matrices", list(a.sizes))
    site.check(len(b.sizes) >= 2, "input2", "matrices", list(b.sizes))
    transposed = bool(node.flags & TRANSPOSED)
    inner, columns = b.sizes[:-3:-1] if transposed else b.sizes[-2:]
    site.check(a.sizes[-1] == inner, "input2", f"matrices for rows of {a.sizes[-1]}", list(b.sizes))
    batch = broadcast(site, a.sizes[:-2], b.sizes[:-2])
    out = site.result(node.output_id, (*batch, a.sizes[-2], columns))
    if not out.numel:
        return []
    calls: list[Step] = []
    left = site.converted(a, ScalarType.FLOAT, calls).array
    right = site.converted(b, ScalarType.FLOAT, calls).array
    target = _float_target(site, out)
    calls.append((np.matmul, (left, right.swapaxes(-1, -2) if transposed else right, target)))
    return _stored(calls, target, out)


def broadcast(site: Site, first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of two batches of matrices together. Raises Trap when they do not go together."""
    try:
        return np.broadcast_shapes(first, second)
    except ValueError:
        raise site.ctx.trap(arg="input2", expected=f"a batch of {list(first)}", got=list(second)) from None


def _float_target(site: Site, out: Tensor) -> Array:
    return out.array if out.scalar_type == ScalarType.FLOAT else site.ctx.scratch(out.sizes, np.float32)


def _stored(calls: list[Step], target: Array, out: Tensor) -> list[Step]:
    if out.scalar_type != ScalarType.FLOAT:
        calls.append(copy(target.reshape(out.sizes), out.array))
    return calls
