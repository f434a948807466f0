"""Rules of resizes of images."""

from __future__ import annotations

from math import gcd
from typing import Final

from xdsl.ir import SSAValue

from et_backends.tosa.compiler.legalizer import CannotLegalize, Legalizer
from et_backends.tosa.compiler.rules.rule import Rule, require_float
from et_backends.tosa.format.graph import Op, ResizeMode
from et_ir.dialects.edge.resampling import goes_by_ratios
from et_ir.dialects.schema import SchemaOp

__all__ = ["RULES"]

_MAX_SCALE: Final = 256
"""The largest ratio of sizes, of level 8K."""


def _scale(have: int, want: int, mode: ResizeMode, aligned: bool) -> tuple[int, int, int, int]:
    """Numerator and denominator of the scale, offset and border of one dimension.

    Element `o` of the result is at `(o * denominator + offset) / numerator` of the operand.
    """
    if aligned:
        if have == 1 or want == 1:
            return 1, 1, 0, want - have
        part = gcd(have - 1, want - 1)
        numerator, denominator, offset = (want - 1) // part, (have - 1) // part, 0
    else:
        part = gcd(have, want)
        numerator, denominator = 2 * want // part, 2 * have // part
        # Centers of elements coincide. NEAREST rounds half up: half an element less, and a little more, makes it
        # round down.
        offset = (have - want) // part if mode is ResizeMode.BILINEAR else 1 - numerator // 2
    border = denominator * (want - 1) - numerator * (have - 1) + offset
    return numerator, denominator, offset, border


def _resized(mode: ResizeMode) -> Rule:
    def lower(t: Legalizer, op: SchemaOp) -> SSAValue:
        names = op.info().schema.by_name
        x: SSAValue = op.arg("input" if "input" in names else "self")
        require_float(t, x)
        have, want = t.shape_of(x)[-2:], t.shape_of(op.results[0])[-2:]
        if not goes_by_ratios(op):
            raise CannotLegalize(f"scales that are not the ratios of the sizes, {have} to {want}")
        aligned = bool(op.arg("align_corners")) if "align_corners" in names else False
        parts = [_scale(a, b, mode, aligned) for a, b in zip(have, want, strict=True)]
        if any(numerator > _MAX_SCALE * denominator for numerator, denominator, _, _ in parts):
            raise CannotLegalize("a scale above 256")
        (ny, dy, oy, by), (nx, dx, ox, bx) = parts
        made = t.emit(
            Op.RESIZE,
            t.to_nhwc(x),
            t.shape([ny, dy, nx, dx]),
            t.shape([oy, ox]),
            t.shape([by, bx]),
            mode=mode,
        )
        return t.to_nchw(made)

    return lower


RULES: Final[dict[str, Rule]] = {
    "upsample_bilinear2d": _resized(ResizeMode.BILINEAR),
    "upsample_bilinear2d.vec": _resized(ResizeMode.BILINEAR),
    "upsample_nearest2d": _resized(ResizeMode.NEAREST),
    "upsample_nearest2d.vec": _resized(ResizeMode.NEAREST),
}
