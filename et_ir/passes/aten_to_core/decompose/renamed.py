"""Operators that are others under a second name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from xdsl.ir import SSAValue

from et_ir.dialects.aten import AtenOp
from et_ir.dialects.aten import ops as aten
from et_ir.passes.aten_to_core.decompose.chain import Chain, decomposes

RENAMED: Final[dict[type[AtenOp], type[AtenOp]]] = {
    aten.AbsoluteOp: aten.AbsOp,
    aten.ArccosOp: aten.AcosOp,
    aten.ArccoshOp: aten.AcoshOp,
    aten.ArcsinOp: aten.AsinOp,
    aten.ArcsinhOp: aten.AsinhOp,
    aten.Arctan2Op: aten.Atan2Op,
    aten.ArctanOp: aten.AtanOp,
    aten.ArctanhOp: aten.AtanhOp,
    aten.ClipOp: aten.ClampOp,
    aten.ClipTensorOp: aten.ClampTensorOp,
    aten.ConcatOp: aten.CatOp,
    aten.ConcatenateOp: aten.CatOp,
    aten.DivideScalarModeOp: aten.DivScalarModeOp,
    aten.DivideScalarOp: aten.DivScalarOp,
    aten.DivideTensorModeOp: aten.DivTensorModeOp,
    aten.DivideTensorOp: aten.DivTensorOp,
    aten.FixOp: aten.TruncOp,
    aten.GreaterEqualScalarOp: aten.GeScalarOp,
    aten.GreaterEqualTensorOp: aten.GeTensorOp,
    aten.GreaterScalarOp: aten.GtScalarOp,
    aten.GreaterTensorOp: aten.GtTensorOp,
    aten.LessEqualScalarOp: aten.LeScalarOp,
    aten.LessEqualTensorOp: aten.LeTensorOp,
    aten.LessScalarOp: aten.LtScalarOp,
    aten.LessTensorOp: aten.LtTensorOp,
    aten.MaxOtherOp: aten.MaximumOp,
    aten.MinOtherOp: aten.MinimumOp,
    aten.MultiplyScalarOp: aten.MulScalarOp,
    aten.MultiplyTensorOp: aten.MulTensorOp,
    aten.NegativeOp: aten.NegOp,
    aten.NotEqualScalarOp: aten.NeScalarOp,
    aten.NotEqualTensorOp: aten.NeTensorOp,
    aten.SpecialErfOp: aten.ErfOp,
    aten.SpecialExp2Op: aten.Exp2Op,
    aten.SpecialExpitOp: aten.SigmoidOp,
    aten.SpecialExpm1Op: aten.Expm1Op,
    aten.SpecialLog1pOp: aten.Log1pOp,
    aten.SpecialLogitOp: aten.LogitOp,
    aten.SpecialLogsumexpOp: aten.LogsumexpOp,
    aten.SpecialSincOp: aten.SincOp,
    aten.SubtractScalarOp: aten.SubScalarOp,
    aten.SubtractTensorOp: aten.SubTensorOp,
    aten.TrueDivideScalarOp: aten.DivScalarOp,
    aten.TrueDivideTensorOp: aten.DivTensorOp,
    aten.UnderscoreUnderscoreAndScalarOp: aten.BitwiseAndScalarOp,
    aten.UnderscoreUnderscoreAndTensorOp: aten.BitwiseAndTensorOp,
    aten.UnderscoreUnderscoreLshiftScalarOp: aten.BitwiseLeftShiftTensorScalarOp,
    aten.UnderscoreUnderscoreLshiftTensorOp: aten.BitwiseLeftShiftTensorOp,
    aten.UnderscoreUnderscoreOrScalarOp: aten.BitwiseOrScalarOp,
    aten.UnderscoreUnderscoreOrTensorOp: aten.BitwiseOrTensorOp,
    aten.UnderscoreUnderscoreRshiftScalarOp: aten.BitwiseRightShiftTensorScalarOp,
    aten.UnderscoreUnderscoreRshiftTensorOp: aten.BitwiseRightShiftTensorOp,
    aten.UnderscoreUnderscoreXorScalarOp: aten.BitwiseXorScalarOp,
    aten.UnderscoreUnderscoreXorTensorOp: aten.BitwiseXorTensorOp,
    aten.UnderscoreUnsafeIndexTensorOp: aten.IndexTensorOp,
    aten.UnderscoreUnsafeIndexPutOp: aten.IndexPutOp,
    aten.UnsafeChunkOp: aten.ChunkOp,
    aten.UnsafeSplitTensorOp: aten.SplitTensorOp,
    aten.UnsafeSplitWithSizesOp: aten.SplitWithSizesOp,
}
"""The name that Core ATen uses, or that another decomposition takes, with the same arguments."""


def _rename(target: type[AtenOp]) -> Callable[[Chain, AtenOp], Sequence[SSAValue]]:
    return lambda b, op: b.results(target, **op.args())


for _source, _target in RENAMED.items():
    decomposes(_source)(_rename(_target))
