"""Einstein summation: operands are multiplied two by two, each time as one product of matrices where a label
is contracted.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import prod
from typing import NamedTuple

from xdsl.ir import SSAValue

from et_ir.dialects.aten import ops as aten
from et_ir.passes.aten_to_core.decompose.chain import Chain, decomposes, is_static, meta
from et_ir.passes.aten_to_core.decompose.matmul import matmul
from et_ops.dtypes import I64
from et_ops.inference.einsum import read_equation


class Labelled(NamedTuple):
    """A tensor and the labels of its dimensions, each once."""

    value: SSAValue
    labels: list[str]

    def sizes(self) -> dict[str, int]:
        return dict(zip(self.labels, meta(self.value).shape, strict=True))


def _summed(b: Chain, x: Labelled, kept: Collection[str]) -> Labelled:
    """Without the dimensions whose labels are of no more use."""
    dims = [i for i, label in enumerate(x.labels) if label not in kept]
    if not dims:
        return x
    value = b(aten.SumDimIntListOp, x.value, dims, dtype=meta(x.value).dtype)
    return Labelled(value, [label for label in x.labels if label in kept])


def _arranged(b: Chain, x: Labelled, order: Sequence[str]) -> SSAValue:
    return b.permute(x.value, [x.labels.index(label) for label in order])


def _product(b: Chain, x: Labelled, y: Labelled, kept: Collection[str]) -> Labelled:
    """Multiply, and sum over the labels that both have and that are not kept."""
    x, y = _summed(b, x, {*kept, *y.labels}), _summed(b, y, {*kept, *x.labels})
    batch = [label for label in x.labels if label in y.labels and label in kept]
    inner = [label for label in x.labels if label in y.labels and label not in kept]
    rows = [label for label in x.labels if label not in y.labels]
    columns = [label for label in y.labels if label not in x.labels]
    sizes = {**x.sizes(), **y.sizes()}
    result = [*batch, *rows, *columns]
    shape = [sizes[label] for label in result]
    if not inner:
        left = b.view(
            _arranged(b, x, [*batch, *rows]), [*shape[: len(shape) - len(columns)], *(1,) * len(columns)]
        )
        right = _arranged(b, y, [*batch, *columns])
        middle = [sizes[label] for label in batch], (1,) * len(rows), [sizes[label] for label in columns]
        return Labelled(
            b(aten.MulTensorOp, left, b.view(right, [n for part in middle for n in part])), result
        )

    def count(labels: Sequence[str]) -> int:
        return prod(sizes[label] for label in labels)

    lead = [count(batch)] if batch else []
    left = b.view(_arranged(b, x, [*batch, *rows, *inner]), [*lead, count(rows), count(inner)])
    right = b.view(_arranged(b, y, [*batch, *inner, *columns]), [*lead, count(inner), count(columns)])
    return Labelled(b.view(matmul(b, left, right), shape), result)


@decomposes(aten.EinsumOp)
def einsum(b: Chain, op: aten.EinsumOp) -> SSAValue | None:
    """From left to right. Left to torch: diagonals, sizes that broadcast, those known at run time only, and
    narrow integers, of which sums are wider than products.
    """
    narrow = any(meta(x).dtype.is_integral and meta(x).dtype is not I64 for x in op.tensors)
    if narrow or not is_static(*op.tensors):
        return None
    labels, output = read_equation(op.equation, [meta(x).rank for x in op.tensors])
    operands = [Labelled(value, own) for value, own in zip(op.tensors, labels, strict=True)]
    sizes: dict[str, int] = {}
    for operand in operands:
        if len(set(operand.labels)) != len(operand.labels):
            return None
        if any(sizes.setdefault(label, size) != size for label, size in operand.sizes().items()):
            return None
    result = operands[0]
    for i, operand in enumerate(operands[1:], 1):
        later = {label for other in operands[i + 1 :] for label in other.labels}
        result = _product(b, result, operand, {*output, *later})
    return _arranged(b, _summed(b, result, output), output)
