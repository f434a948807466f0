"""Fourier transforms by the one that the stock runtime has: of real numbers, half of the result."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from et_ir.dialects.edge import ops as edge
from et_ir.dialects.schema.tensors import tensor_type
from et_ir.passes.to_executorch.legalize.complex_parts import Pair, Parts, on_parts


@on_parts(edge.UnderscoreFftR2cOp)
def of_real(b: Parts, op: edge.UnderscoreFftR2cOp) -> Pair | None:
    dims = _dims(op.arg("dim"))
    return None if dims is None else _whole(b, op.operands[0], dims, op.arg("normalization"))


@on_parts(edge.UnderscoreFftC2cOp)
def of_complex(b: Parts, op: edge.UnderscoreFftC2cOp) -> Pair | None:
    """By linearity: the transform of the real part, and i times that of the imaginary one. Inverted, everything is
    conjugate.
    """
    dims, normalization, forward = _dims(op.arg("dim")), op.arg("normalization"), op.arg("forward")
    if dims is None or not isinstance(forward, bool):
        return None
    x = b.of(op.operands[0])
    first = _whole(b, x.real, dims, normalization)
    second = _whole(b, x.imag if forward else b.neg(x.imag), dims, normalization)
    real, imag = b.sub(first.real, second.imag), b.add(first.imag, second.real)
    return Pair(real, imag if forward else b.neg(imag))


def _dims(dims: object) -> Sequence[int] | None:
    """The dimensions of a transform, if there are some."""
    if not isinstance(dims, tuple) or not dims:
        return None
    known = [dim for dim in dims if isinstance(dim, int)]  # pyright: ignore[reportUnknownVariableType]
    return known if len(known) == len(dims) else None  # pyright: ignore[reportUnknownArgumentType]


def _whole(b: Parts, x: SSAValue, dims: Sequence[int], normalization: int) -> Pair:
    """The transform of a real tensor: the half of it that there is a kernel for, and behind it its mirror image."""
    shape = tensor_type(x).get_shape()
    dims = [dim % len(shape) for dim in dims]
    last = dims[-1]
    half = b.of(b(edge.UnderscoreFftR2cOp, x, dims, normalization, True))
    behind = shape[last] - shape[last] // 2 - 1
    if not behind:
        return half

    def mirrored(part: SSAValue) -> SSAValue:
        tail = b(edge.SliceCopyTensorOp, part, last, 1, behind + 1)
        tail = b(edge.FlipOp, tail, dims)
        others = dims[:-1]
        return b(edge.RollOp, tail, [1] * len(others), others) if others else tail

    return Pair(
        b(edge.CatOp, [half.real, mirrored(half.real)], last),
        b(edge.CatOp, [half.imag, b.neg(mirrored(half.imag))], last),
    )
