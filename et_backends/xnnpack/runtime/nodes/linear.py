"""Products of matrices."""

from __future__ import annotations

import math

import numpy as np

from et_backends.xnnpack.format.graph import Node2x1, XNNBatchMatrixMultiply, XNNFullyConnected
from et_backends.xnnpack.runtime.memory import aligned
from et_backends.xnnpack.runtime.nodes.declare import translates
from et_backends.xnnpack.runtime.site import Site, viewed
from et_backends.xnnpack.runtime.weights import QuantizedWeight
from et_schema.scalar_type import ScalarType
from et_vm.kernels.portable.movement.move import moves
from et_vm.kernels.portable.steps import call, copy, run
from et_vm.step import Step
from et_vm.values import Tensor

TRANSPOSED = 1
"""Of a fully connected node: the filter is (inputs, outputs). Of a product: the second operand is transposed."""
FLATTENED = 4
"""Of a fully connected node: the output is a matrix whatever the input is."""
_BLOCK = 1 << 18
"""Elements of a weight of integers that are in float32 at a time: 1 MiB, which the cache holds."""


@translates(XNNFullyConnected)
def fully_connected(site: Site, node: XNNFullyConnected) -> list[Step]:
    """x W^T + b along the last dimension of x. Scratch, unless all is float32: what is not, in float32. Kept: a
    constant filter the other way round, with which BLAS takes two thirds of the time where there is more than one row,
    unless it is of integers: of these a block of rows at a time is restored.
    """
    calls: list[Step] = []
    x = site.operand(node.input1_id)
    quantized, bias = site.weights.get(node.filter_id), site.optional(node.bias_id)
    shape = site.operand(node.filter_id).sizes if quantized is None else quantized.dims
    site.check(len(shape) == 2, "filter", "a matrix", list(shape))
    outputs, inputs = shape[:: -1 if node.flags & TRANSPOSED else 1]
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
    rows = out.numel // outputs
    target = viewed(_float_target(site, out), (rows, outputs))
    if quantized is None:
        calls += _product(site, viewed(x, (rows, inputs)), _matrix(site, node, rows, calls), target)
    else:
        calls += _blocks(site, viewed(x, (rows, inputs)), quantized, target)
    if bias is not None:
        added = viewed(site.converted(bias, ScalarType.FLOAT, calls), (outputs,))
        compiled = site.compiled_if_large(target.numel, "aten::add.out", target, added, 1, target)
        calls += [call(np.add, target.array, added.array, target.array)] if compiled is None else compiled
    return _stored(calls, target, out)


def _blocks(site: Site, x: Tensor, weight: QuantizedWeight, out: Tensor) -> list[Step]:
    """The product with a weight of integers, of which a block of rows at a time is in float32."""
    count = min(weight.rows, max(1, _BLOCK // max(weight.columns, 1)))
    restored = site.ctx.scratch(4 * count * weight.columns).view(np.float32).reshape(count, weight.columns)
    calls: list[Step] = []
    for start in range(0, weight.rows, count):
        stop = min(start + count, weight.rows)
        block = restored[: stop - start]
        calls.append((weight.dequantize, (start, stop, block)))
        calls.append((np.matmul, (x.array, block.T, out.array[:, start:stop])))
    return calls


def _matrix(site: Site, node: XNNFullyConnected, rows: int, calls: list[Step]) -> Tensor:
    """The filter in float32 as (inputs, outputs)."""
    weight = site.converted(site.operand(node.filter_id), ScalarType.FLOAT, calls)
    outputs, inputs = weight.sizes[:: -1 if node.flags & TRANSPOSED else 1]
    order = weight.dim_order if node.flags & TRANSPOSED else tuple(1 - dim for dim in weight.dim_order)
    matrix = viewed(weight, (inputs, outputs), order)
    if weight.constant and rows > 1 and order != (0, 1):
        turned = matrix
        matrix = site.ctx.memo(("turned", weight.version), lambda: _turned(site, turned), turned.nbytes)
    return matrix


def _turned(site: Site, matrix: Tensor) -> Tensor:
    """A constant matrix, row by row in memory."""
    # MKL is a tenth faster where the matrix begins with a line of the cache, OpenBLAS a sixth where it does not.
    storage = aligned(matrix.nbytes) if site.has_compiled else np.empty(matrix.nbytes, np.uint8)
    made = Tensor(matrix.scalar_type, matrix.sizes, storage=storage, name=matrix.name)
    run(moves(site.ctx, matrix.array, made.array))
    made.is_constant = True
    return made


def _product(site: Site, a: Tensor, b: Tensor, out: Tensor) -> list[Step]:
    """Matrices times matrices. By numpy if one of two is a vector, as numpy takes less time to find BLAS's function for
    these.
    """
    vector = len(out.sizes) == 2 and 1 in out.sizes
    compiled = (
        None
        if vector
        else site.compiled("aten::mm.out" if len(out.sizes) == 2 else "aten::bmm.out", a, b, out)
    )
    return [(np.matmul, (a.array, b.array, out.array))] if compiled is None else compiled


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
    left, right = (site.converted(operand, ScalarType.FLOAT, calls) for operand in (a, b))
    target = _float_target(site, out)
    if left.sizes[:-2] == right.sizes[:-2]:
        flat = viewed(target, (math.prod(batch), *target.sizes[-2:]))
        calls += _product(site, _matrices(left), _matrices(right, turned=transposed), flat)
    else:
        matrices = right.array.swapaxes(-1, -2) if transposed else right.array
        calls.append((np.matmul, (left.array, matrices, target.array)))
    return _stored(calls, target, out)


def _matrices(tensor: Tensor, *, turned: bool = False) -> Tensor:
    """The last two dimensions as a batch of matrices, or these turned."""
    *batch, rows, columns = tensor.sizes
    by_column = tensor.dim_order[-1] != len(tensor.sizes) - 1
    sizes = (columns, rows) if turned else (rows, columns)
    return viewed(tensor, (math.prod(batch), *sizes), (0, 2, 1) if by_column != turned else None)


def broadcast(site: Site, first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of two batches of matrices together. Raises Trap when they do not go together."""
    try:
        return np.broadcast_shapes(first, second)
    except ValueError:
        raise site.ctx.trap(arg="input2", expected=f"a batch of {list(first)}", got=list(second)) from None


def _float_target(site: Site, out: Tensor) -> Tensor:
    if out.scalar_type == ScalarType.FLOAT:
        return out
    return Tensor(ScalarType.FLOAT, out.sizes, storage=site.ctx.scratch(4 * out.numel))


def _stored(calls: list[Step], target: Tensor, out: Tensor) -> list[Step]:
    if out.scalar_type != ScalarType.FLOAT:
        calls.append(copy(target.array.reshape(out.sizes), out.array))
    return calls
