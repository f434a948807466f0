"""Resizes of images."""

from __future__ import annotations

from typing import Final

from et_ir.backends.openvino.rules.rule import Rule
from et_ir.backends.openvino.translation import Node, Translation, shape_of
from et_ir.diagnostics import Diagnostic
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
        else "pytorch_half_pixel"
        if bilinear
        else "asymmetric",
        nearest_mode="floor",
        axes=t.integers(2, 3),
    )


def _refuse(op: SchemaOp) -> Diagnostic | None:
    """Factors that are no quotient of sizes are used by torch, and not by the node."""
    factors = op.arg("scale_factors")
    if factors is None:
        return None
    sizes, made = shape_of(op.operands[0])[2:], shape_of(op.result)[2:]
    exact = all(factor * size == new for factor, size, new in zip(factors, sizes, made, strict=True))
    return None if exact else Diagnostic("factors that are not quotients of sizes", str(factors))


RULES: Final[dict[str, Rule]] = {
    "upsample_bilinear2d.vec": Rule(_resize, _refuse),
    "upsample_nearest2d.vec": Rule(_resize, _refuse),
}
