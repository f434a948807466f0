"""Operators that are others under a second name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from xdsl.ir import SSAValue

from et_ir.dialects.aten import AtenOp
from et_ir.dialects.aten import ops as aten
from et_ir.passes.aten_to_core.decompose.chain import Chain, Reason, decomposes

RENAMED: Final[dict[Reason, dict[type[AtenOp], type[AtenOp]]]] = {
    Reason.COMMON: {
        aten.ClipOp: aten.ClampOp,
        aten.ClipTensorOp: aten.ClampTensorOp,
        aten.ConcatOp: aten.CatOp,
        aten.ConcatenateOp: aten.CatOp,
        aten.MaxOtherOp: aten.MaximumOp,
        aten.MinOtherOp: aten.MinimumOp,
        aten.UnderscoreUnderscoreAndTensorOp: aten.BitwiseAndTensorOp,
        aten.UnderscoreUnderscoreOrTensorOp: aten.BitwiseOrTensorOp,
    },
    Reason.FEWER: {
        aten.UnsafeChunkOp: aten.ChunkOp,
        aten.UnsafeSplitTensorOp: aten.SplitTensorOp,
        aten.UnsafeSplitWithSizesOp: aten.SplitWithSizesOp,
    },
    Reason.NONE: {
        aten.UnderscoreUnderscoreLshiftScalarOp: aten.BitwiseLeftShiftTensorScalarOp,
        aten.UnderscoreUnderscoreLshiftTensorOp: aten.BitwiseLeftShiftTensorOp,
        aten.UnderscoreUnderscoreRshiftScalarOp: aten.BitwiseRightShiftTensorScalarOp,
        aten.UnderscoreUnderscoreRshiftTensorOp: aten.BitwiseRightShiftTensorOp,
    },
}
"""The name that Core ATen uses, or that another decomposition takes, with the same arguments."""


def _rename(target: type[AtenOp]) -> Callable[[Chain, AtenOp], Sequence[SSAValue]]:
    return lambda b, op: b.results(target, **op.args())


for _reason, _names in RENAMED.items():
    for _source, _target in _names.items():
        decomposes(_reason, _source)(_rename(_target))
