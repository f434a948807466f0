"""Grids of coordinates. Torch decomposes those of a number that is known."""

from __future__ import annotations

from xdsl.ir import SSAValue

from et_ir.dialects.aten import ops as aten
from et_ir.passes.aten_to_core.decompose.chain import Chain, Reason, decomposes, is_static, meta
from et_ops.dtypes import DType


@decomposes(Reason.SIZES, aten.AffineGridGeneratorOp)
def affine_grid_generator(b: Chain, op: aten.AffineGridGeneratorOp) -> SSAValue | None:
    """The coordinates of each place, and 1, times the matrices."""
    spatial = [size for size in op.size[2:] if isinstance(size, int)]
    if (is_static(op.theta) and not op.symbols) or len(spatial) < len(op.size) - 2 or 0 in spatial:
        return None
    theta = b.wide(op.theta)
    dtype = meta(theta).dtype
    rank = len(spatial)
    axes: list[SSAValue] = []
    for place, count in reversed(tuple(enumerate(spatial))):
        line = _from_minus_one(b, dtype, count, aligned=op.align_corners)
        shape = [1] * (rank + 1)
        shape[place] = -1
        axes.append(b.expand(b.view(line, shape), (*spatial, 1)))
    axes.append(b.full((*spatial, 1), 1, dtype))
    places = b.view(b(aten.CatOp, axes, rank), (-1, rank + 1, 1))
    matrices = b(aten.UnsqueezeOp, b.permute(theta, (0, 2, 1)), 1)
    grid = b(aten.SumDimIntListOp, b(aten.MulTensorOp, places, matrices), (-2,))
    return b.to(b.view(grid, (-1, *spatial, rank)), meta(op.theta).dtype)


def _from_minus_one(b: Chain, dtype: DType, count: int, *, aligned: bool) -> SSAValue:
    """Coordinates from -1 to 1: of the first and the last place, or of their outer edges. One place is at 0."""
    if count <= 1:
        return b.full((count,), 0, dtype)
    end = 1.0 if aligned else (count - 1) / count
    return b(aten.LinspaceOp, -end, end, count, dtype=dtype)
