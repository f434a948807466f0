"""The `control` dialect: control flow as ops with regions, at every level above `executorch`.

`cond` computes one of two regions, `while` repeats one as long as another says so, `map` applies one to each slice of
tensors and `scan` does so with a state that goes from one slice to the next. Regions see the values around them: what
torch passes to its branches as captured operands is simply used.
"""

from xdsl.ir import Dialect

from et_ir.dialects.control.build import ScanBody, build_scan
from et_ir.dialects.control.ops import CondOp, ControlOp, LoopOp, MapOp, ScanOp, WhileOp, YieldOp, region_of
from et_ir.dialects.control.types import fits

__all__ = [
    "CondOp",
    "Control",
    "ControlOp",
    "LoopOp",
    "MapOp",
    "ScanBody",
    "ScanOp",
    "WhileOp",
    "YieldOp",
    "build_scan",
    "fits",
    "region_of",
]

Control = Dialect("control", [CondOp, WhileOp, MapOp, ScanOp, YieldOp], [])
