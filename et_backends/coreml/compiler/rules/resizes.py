"""Image resizing."""

from __future__ import annotations

from typing import Final

from et_backends.coreml.compiler.rules.rule import Rule
from et_backends.coreml.compiler.translation import Made, Translation, shape_of
from et_ir.diagnostics import Diagnostic
from et_ir.dialects.edge.resampling import goes_by_ratios
from et_ir.dialects.schema import SchemaOp

__all__ = ["RULES"]


def _bilinear(t: Translation, op: SchemaOp) -> Made:
    shape = shape_of(op.result)
    mode = "STRICT_ALIGN_CORNERS" if op.arg("align_corners") else "UNALIGN_CORNERS"
    x = t.value(op.operands[0])
    return t.make(
        "resize_bilinear",
        shape,
        x=x,
        target_size_height=shape[2],
        target_size_width=shape[3],
        sampling_mode=mode,
    )


def _nearest(t: Translation, op: SchemaOp) -> Made:
    x, shape = t.value(op.operands[0]), shape_of(op.result)
    height, width = (made // size for made, size in zip(shape[2:], x.shape[2:], strict=True))
    return t.make(
        "upsample_nearest_neighbor", shape, x=x, scale_factor_height=height, scale_factor_width=width
    )


def _refuse(op: SchemaOp) -> Diagnostic | None:
    """Factors that are no quotient of sizes are used by torch, and not by the operation."""
    if goes_by_ratios(op):
        return None
    return Diagnostic("factors that are not quotients of sizes", str(op.arg("scale_factors")))


def _refuse_fractions(op: SchemaOp) -> Diagnostic | None:
    sizes, made = shape_of(op.operands[0])[2:], shape_of(op.result)[2:]
    if any(new % size for size, new in zip(sizes, made, strict=True)):
        return Diagnostic("sizes that are not multiples")
    return _refuse(op)


RULES: Final[dict[str, Rule]] = {
    "upsample_bilinear2d.vec": Rule(_bilinear, _refuse),
    "upsample_nearest2d.vec": Rule(_nearest, _refuse_fractions),
}
