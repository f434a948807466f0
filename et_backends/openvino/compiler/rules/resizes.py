"""Resizes of images."""

from __future__ import annotations

from typing import Final

from et_backends.openvino.compiler.rules.rule import Rule
from et_backends.openvino.compiler.translation import Node, Translation, shape_of
from et_ir.diagnostics import Diagnostic
from et_ir.dialects.edge.resampling import goes_by_ratios
from et_ir.dialects.schema import SchemaOp

__all__ = ["RULES"]


def _resize(t: Translation, op: SchemaOp) -> Node:
    """To the sizes of the result; coordinates follow from sizes, as they do in torch without factors."""
    bilinear = "bilinear" in op.name
    corners = bilinear and bool(op.arg("align_corners"))
    return t.nodes.interpolate(
        t.value(op.operands[0]),
        t.integers(*shape_of(op.result)[2:]),
        mode="linear_onnx" if bilinear else "nearest",
        shape_calculation_mode="sizes",
        coordinate_transformation_mode="align_corners"
        if corners
        # Not "pytorch_half_pixel", which takes the first pixel of all for a size of 1.
        else "half_pixel"
        if bilinear
        else "asymmetric",
        nearest_mode="floor",
        axes=t.integers(2, 3),
    )


def _refuse(op: SchemaOp) -> Diagnostic | None:
    """Factors that are no quotient of sizes are used by torch, and not by the node."""
    if goes_by_ratios(op):
        return None
    return Diagnostic("factors that are not quotients of sizes", str(op.arg("scale_factors")))


RULES: Final[dict[str, Rule]] = {
    "upsample_bilinear2d.vec": Rule(_resize, _refuse),
    "upsample_nearest2d.vec": Rule(_resize, _refuse),
}
