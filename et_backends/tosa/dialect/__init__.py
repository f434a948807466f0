"""The `tosa` dialect: Tensor Operator Set Architecture 1.0 and 1.1, the portable operators of Arm's accelerators.

Ops, attributes and types are written as MLIR has them in its dialect of the same name, in generic form, so that its
tools read the text. Large constants are data of the program; `inline-tosa-constants` writes them into the text.
"""

from xdsl.ir import Dialect

from et_backends.tosa.dialect.attributes import NanModeAttr, ResizeModeAttr, RoundingModeAttr, ShapeType
from et_backends.tosa.dialect.ops import OP_CLASSES, ConstOp, ConstShapeOp, TosaOp

__all__ = [
    "OP_CLASSES",
    "ConstOp",
    "ConstShapeOp",
    "NanModeAttr",
    "ResizeModeAttr",
    "RoundingModeAttr",
    "ShapeType",
    "Tosa",
    "TosaOp",
]

Tosa = Dialect(
    "tosa",
    [ConstOp, ConstShapeOp, *OP_CLASSES.values()],
    [ShapeType, NanModeAttr, RoundingModeAttr, ResizeModeAttr],
)
