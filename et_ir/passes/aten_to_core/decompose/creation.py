"""Tensors made from nothing: equal elements, sequences and triangles, as `full` and `arange`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, SSAValue

from et_ir.dialects.aten import AtenOp
from et_ir.dialects.aten import ops as aten
from et_ir.dialects.schema.dtypes import dtype_of
from et_ir.passes.aten_to_core.decompose.chain import Chain, Number, Reason, Size, decomposes, is_static, meta
from et_ops.dtypes import BF16, BOOL, F16, F32, F64, I64, U8, DType, real_of


def _result_dtype(op: AtenOp) -> DType:
    return meta(op.result).dtype


@decomposes(Reason.COMMON, aten.ZerosOp)
def zeros(b: Chain, op: aten.ZerosOp) -> SSAValue:
    return b.full(op.size, 0, _result_dtype(op))


@decomposes(Reason.COMMON, aten.OnesOp)
def ones(b: Chain, op: aten.OnesOp) -> SSAValue:
    return b.full(op.size, 1, _result_dtype(op))


@decomposes(Reason.COMMON, aten.NewZerosOp, aten.NewEmptyOp)
def new_zeros(b: Chain, op: aten.NewZerosOp) -> SSAValue:
    return b.full(op.size, 0, _result_dtype(op))


@decomposes(Reason.NONE, aten.EmptyStridedOp, aten.EmptyPermutedOp)
def empty_strided(b: Chain, op: aten.EmptyStridedOp) -> SSAValue:
    """Strides are no part of what a tensor is, and elements that nothing says anything of may be zero."""
    return b.full(op.size, 0, _result_dtype(op))


@decomposes(Reason.SIZES, aten.EmptyMemoryFormatOp)
def empty(b: Chain, op: aten.EmptyMemoryFormatOp) -> SSAValue | None:
    """The edge level's `empty` takes no sizes known at run time only."""
    if not any(isinstance(size, SSAValue) for size in op.size) or op.memory_format is not None:
        return None
    return b.full(op.size, 0, _result_dtype(op))


@decomposes(Reason.COMMON, aten.NewOnesOp)
def new_ones(b: Chain, op: aten.NewOnesOp) -> SSAValue:
    return b.full(op.size, 1, _result_dtype(op))


@decomposes(Reason.COMMON, aten.NewFullOp)
def new_full(b: Chain, op: aten.NewFullOp) -> SSAValue:
    return _full(b, op.size, op.fill_value, _result_dtype(op))


def _full(b: Chain, size: Sequence[Size], value: Number | SSAValue, dtype: DType) -> SSAValue:
    return b(aten.FullOp, size, value, dtype=dtype)


def _like(b: Chain, like: SSAValue, value: Number, dtype: Attribute | None, format: str | None) -> SSAValue:
    """Of the shape of a tensor: independent of that tensor where its sizes are known and its layout is not
    asked for.

    A memory format that is kept has no meaning for elements that are all the same and need not be kept.
    """
    element = meta(like).dtype if dtype is None else dtype_of(dtype)
    if is_static(like) and format in (None, "preserve_format", "contiguous_format"):
        return b.full(meta(like).shape, value, element)
    return b(aten.FullLikeOp, like, value, dtype=element, memory_format=format)


@decomposes(Reason.FEWER, aten.ZerosLikeOp, aten.EmptyLikeOp)
def zeros_like(b: Chain, op: aten.ZerosLikeOp) -> SSAValue:
    return _like(b, op.self, 0, op.dtype, op.memory_format)


@decomposes(Reason.FEWER, aten.OnesLikeOp)
def ones_like(b: Chain, op: aten.OnesLikeOp) -> SSAValue:
    return _like(b, op.self, 1, op.dtype, op.memory_format)


@decomposes(Reason.FEWER, aten.ZeroOp)
def zero(b: Chain, op: aten.ZeroOp) -> SSAValue:
    return _like(b, op.self, 0, None, None)


@decomposes(Reason.KERNEL, aten.FillScalarOp)
def fill(b: Chain, op: aten.FillScalarOp) -> SSAValue | None:
    """Core ATen has `fill`, but `full` does not depend on a tensor."""
    if isinstance(op.value, SSAValue) or not is_static(op.self):
        return None
    return b.full(meta(op.self).shape, op.value, meta(op.self).dtype)


@decomposes(Reason.COMMON, aten.ArangeOp)
def arange(b: Chain, op: aten.ArangeOp) -> SSAValue:
    return b(aten.ArangeStartStepOp, 0, op.end, 1, dtype=meta(op.result).dtype)


@decomposes(Reason.COMMON, aten.ArangeStartOp)
def arange_start(b: Chain, op: aten.ArangeStartOp) -> SSAValue:
    return b(aten.ArangeStartStepOp, op.start, op.end, 1, dtype=meta(op.result).dtype)


@decomposes(Reason.SIZES, aten.UnderscoreDimArangeOp)
def dim_arange(b: Chain, op: aten.UnderscoreDimArangeOp) -> SSAValue:
    return b(aten.ArangeStartStepOp, 0, b.size(op.like, op.dim), 1, dtype=I64)


@decomposes(Reason.EXACT, aten.LinspaceOp)
def linspace(b: Chain, op: aten.LinspaceOp) -> SSAValue | None:
    """From both ends to the middle, so that both are met exactly."""
    start, end, steps = op.start, op.end, op.steps
    dtype = meta(op.result).dtype
    if dtype.is_integral and not isinstance(start, SSAValue) and not isinstance(end, SSAValue):
        return _whole_numbers(b, int(start), int(end), steps, dtype)
    if isinstance(start, SSAValue) or isinstance(end, SSAValue) or not dtype.is_float:
        return None
    if steps < 2:
        return b.full((steps,), start, dtype)
    step = (end - start) / (steps - 1)
    index = b(aten.ArangeStartStepOp, 0, steps, 1, dtype=dtype)
    rest = b(aten.RsubScalarOp, index, steps - 1)
    from_start = b(aten.AddScalarOp, b(aten.MulScalarOp, index, step), start)
    from_end = b(aten.RsubScalarOp, b(aten.MulScalarOp, rest, step), end)
    return b(aten.WhereSelfOp, b(aten.LtScalarOp, index, steps / 2), from_start, from_end)


def _whole_numbers(b: Chain, start: int, end: int, steps: int, dtype: DType) -> SSAValue:
    """In f64, rounded towards zero. Torch multiplies and adds with one rounding, which decides where a whole number is
    met: so the step has two parts, and an index times the first is exact.
    """
    if dtype is U8:
        start, end = start % 256, end % 256
    if steps < 2:
        return b.full((steps,), start, dtype)
    step = (end - start) / (steps - 1)
    # Veltkamp's splitting of the 53 bits into 26 and 27.
    scaled = step * (2**27 + 1)
    high = scaled - (scaled - step)
    low = step - high
    index = b(aten.ArangeStartStepOp, 0, steps, 1, dtype=F64)
    rest = b(aten.RsubScalarOp, index, steps - 1)
    from_start = b(aten.AddScalarOp, b(aten.MulScalarOp, index, high), start)
    from_end = b(aten.RsubScalarOp, b(aten.MulScalarOp, rest, high), end)
    if low:
        from_start = b(aten.AddTensorOp, from_start, b(aten.MulScalarOp, index, low))
        from_end = b(aten.SubTensorOp, from_end, b(aten.MulScalarOp, rest, low))
    return b.to(b(aten.WhereSelfOp, b(aten.LtScalarOp, index, steps // 2), from_start, from_end), dtype)


@decomposes(
    Reason.NONE, aten.LinspaceTensorTensorOp, aten.LinspaceTensorScalarOp, aten.LinspaceScalarTensorOp
)
def linspace_between(b: Chain, op: aten.LinspaceTensorTensorOp) -> SSAValue:
    """As `linspace`; ends are first of the result's type, integers then computed with as f64."""
    dtype, steps = meta(op.result).dtype, op.steps
    wide = F64 if dtype.is_integral else F32 if dtype in (F16, BF16) else dtype

    def end(value: SSAValue | Number) -> SSAValue:
        if not isinstance(value, SSAValue):
            return b.scalar(int(value) if dtype.is_integral else value, wide)
        return b.to(b.to(value, dtype), wide)

    first, last = end(op.arg("start")), end(op.arg("end"))
    if steps < 2:
        return b.to(b.expand(first, (steps,)), dtype)
    step = b(aten.DivScalarOp, b(aten.SubTensorOp, last, first), steps - 1)
    index = b(aten.ArangeStartStepOp, 0, steps, 1, dtype=real_of(wide))
    rest = b(aten.RsubScalarOp, index, steps - 1)
    from_start = b(aten.AddTensorOp, first, b(aten.MulTensorOp, index, step))
    from_end = b(aten.SubTensorOp, last, b(aten.MulTensorOp, rest, step))
    near = b(aten.LtScalarOp, index, steps // 2)
    return b.to(b(aten.WhereSelfOp, near, from_start, from_end), dtype)


def _indices(b: Chain, rows: Size, columns: Size) -> tuple[SSAValue, SSAValue]:
    """A column of row indices and a row of column indices."""
    row = b(aten.ArangeStartStepOp, 0, rows, 1, dtype=I64)
    return b(aten.UnsqueezeOp, row, 1), b(aten.ArangeStartStepOp, 0, columns, 1, dtype=I64)


def _triangle(b: Chain, x: SSAValue, diagonal: Size, *, upper: bool) -> SSAValue:
    row, column = _indices(b, b.size(x, -2), b.size(x, -1))
    edge = row if diagonal == 0 else b(aten.AddScalarOp, row, diagonal)
    kept = b(aten.GeTensorOp if upper else aten.LeTensorOp, column, edge)
    dtype = meta(x).dtype
    if dtype is BOOL:
        return b(aten.LogicalAndOp, x, kept)
    return b(aten.WhereSelfOp, kept, x, b.scalar(0, dtype))


@decomposes(Reason.COMMON, aten.TrilOp)
def tril(b: Chain, op: aten.TrilOp) -> SSAValue:
    return _triangle(b, op.self, op.diagonal, upper=False)


@decomposes(Reason.COMMON, aten.TriuOp)
def triu(b: Chain, op: aten.TriuOp) -> SSAValue:
    return _triangle(b, op.self, op.diagonal, upper=True)


@decomposes(Reason.SIZES, aten.OneHotOp)
def one_hot(b: Chain, op: aten.OneHotOp) -> SSAValue | None:
    if op.num_classes < 0:
        return None
    classes = b(aten.ArangeStartStepOp, 0, op.num_classes, 1, dtype=I64)
    return b.to(b(aten.EqTensorOp, b(aten.UnsqueezeOp, op.self, -1), classes), I64)
