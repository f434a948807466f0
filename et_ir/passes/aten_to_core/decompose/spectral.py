"""Fourier transforms of frames. Torch's decomposition views them by strides that have to be static."""

from __future__ import annotations

from xdsl.ir import SSAValue

from et_ir.dialects.aten import ops as aten
from et_ir.passes.aten_to_core.decompose.chain import Chain, Reason, Size, decomposes, is_static, meta
from et_ops.dtypes import C32, promote, real_of

_BY_NOTHING, _BY_ROOT, _BY_COUNT = 0, 1, 2
"""The numbers of the normalisations: none, and division by the root of the number of elements or by this itself."""

Transform = (
    aten.FftFftOp | aten.FftHfftOp | aten.FftIfftOp | aten.FftIhfftOp | aten.FftIrfftOp | aten.FftRfftOp
)


@decomposes(Reason.SIZES, aten.StftOp)
def stft(b: Chain, op: aten.StftOp) -> SSAValue | None:
    """The transforms of windows of a signal, one behind the other."""
    if is_static(op.self) or op.align_to_window:
        return None
    length: int = op.n_fft
    hop: int = length // 4 if op.hop_length is None else op.hop_length
    if hop <= 0 or (meta(op.self).dtype.is_complex and op.onesided):
        return None  # torch refuses it
    pieces = b(aten.UnfoldCopyOp, op.self, -1, length, hop)
    window = _window(b, op, length)
    if window is not None:
        pieces = b(aten.MulTensorOp, pieces, window)
    last = meta(pieces).rank - 1
    norm = _BY_ROOT if op.normalized else _BY_NOTHING
    if not meta(pieces).dtype.is_complex:
        onesided = True if op.onesided is None else op.onesided
        found = b(aten.UnderscoreFftR2cOp, pieces, (last,), norm, onesided)
    else:
        found = b(aten.UnderscoreFftC2cOp, pieces, (last,), norm, True)
    found = b.permute(found, (*range(last - 1), last, last - 1))
    return found if op.return_complex else b(aten.ViewAsRealOp, found)


def _normalization(op: Transform, *, forward: bool) -> int:
    """The normalisation: by the number of elements in one of the two directions, or by its root in both."""
    if op.norm == "ortho":
        return _BY_ROOT
    return _BY_COUNT if forward == (op.norm == "forward") else _BY_NOTHING


def _resized(b: Chain, x: SSAValue, dim: int, size: Size | None) -> SSAValue:
    """The first elements along a dimension, with zeros behind them where there are fewer."""
    if size is None:
        return x
    behind = [0] * (2 * (meta(x).rank - 1 - dim)) + [0, size]
    return b(aten.SliceTensorOp, b(aten.ConstantPadNdOp, x, behind, 0), dim, 0, size)


@decomposes(Reason.SIZES, aten.FftFftOp, aten.FftIfftOp, aten.FftRfftOp, aten.FftIhfftOp)
def transform(
    b: Chain, op: aten.FftFftOp | aten.FftIfftOp | aten.FftRfftOp | aten.FftIhfftOp
) -> SSAValue | None:
    """A transform whose result is complex."""
    if is_static(op.self):
        return None
    dim = op.dim % meta(op.self).rank
    forward = isinstance(op, aten.FftFftOp | aten.FftRfftOp)
    x = _resized(b, op.self, dim, op.n)
    norm = _normalization(op, forward=forward)
    if isinstance(op, aten.FftFftOp | aten.FftIfftOp):
        return b(aten.UnderscoreFftC2cOp, b.to(x, meta(op.result).dtype), (dim,), norm, forward)
    found = b(aten.UnderscoreFftR2cOp, b.to(x, real_of(meta(op.result).dtype)), (dim,), norm, True)
    return found if forward else b(aten.UnderscoreConjPhysicalOp, found)


@decomposes(Reason.SIZES, aten.FftIrfftOp, aten.FftHfftOp)
def inverse_of_half(b: Chain, op: aten.FftIrfftOp | aten.FftHfftOp) -> SSAValue | None:
    """The transform of a spectrum whose other half is the conjugate: its result is real."""
    if is_static(op.self):
        return None
    dim = op.dim % meta(op.self).rank
    forward = isinstance(op, aten.FftHfftOp)
    x, size = op.self, op.n
    if size is None:
        size = b.compute("mul", b.compute("sub", b.size(x, dim), 1), 2)
    else:
        x = _resized(b, x, dim, b.compute("add", b.compute("floordiv", size, 2), 1))
    x = b.to(x, promote(meta(op.result).dtype, C32))
    if forward:
        x = b(aten.UnderscoreConjPhysicalOp, x)
    return b(aten.UnderscoreFftC2rOp, x, (dim,), _normalization(op, forward=forward), size)


@decomposes(Reason.SIZES, aten.IstftOp)
def istft(b: Chain, op: aten.IstftOp) -> SSAValue | None:
    """The transformed frames, weighted by the window, overlapped and added, over the same sum of squared windows."""
    if is_static(op.self):
        return None
    length: int = op.n_fft
    hop: int = length // 4 if op.hop_length is None else op.hop_length
    if hop <= 0:
        return None  # torch refuses it
    rank = meta(op.self).rank
    spectra = op.self if rank == 3 else b(aten.UnsqueezeOp, op.self, 0)
    spectra = b.permute(spectra, (0, 2, 1))
    norm = _BY_ROOT if op.normalized else _BY_COUNT
    if op.return_complex:
        frames = b(aten.UnderscoreFftC2cOp, spectra, (2,), norm, False)
    else:
        if op.onesided is False:
            spectra = b(aten.SliceTensorOp, spectra, 2, 0, length // 2 + 1)
        frames = b(aten.UnderscoreFftC2rOp, spectra, (2,), norm, length)
    window = _window(b, op, length)
    if window is None:
        window = b.full((length,), 1, meta(frames).dtype)
    weights = b.expand(b(aten.MulTensorOp, window, window), (1, b.size(frames, 1), length))
    signal = _overlapped(b, b(aten.MulTensorOp, frames, window), hop)
    total = _overlapped(b, weights, hop)
    start = length // 2 if op.center else 0
    count = b.compute("mul", b.compute("sub", b.size(frames, 1), 1), hop)
    size = b.compute("add", count, length - 2 * start) if op.length is None else op.length
    end = b.compute("add", size, start)
    signal, total = (b(aten.SliceTensorOp, y, 1, start, end) for y in (signal, total))
    signal = b(aten.DivTensorOp, signal, total)
    if op.length is not None:  # what lies behind the last frame is 0
        signal = b(aten.SliceTensorOp, b(aten.ConstantPadNdOp, signal, (0, size), 0), 1, 0, size)
    return signal if rank == 3 else b(aten.SqueezeDimsOp, signal, (0,))


def _overlapped(b: Chain, frames: SSAValue, hop: int) -> SSAValue:
    """Frames [N, T, L] with `hop` elements from the start of one to that of the next, added up: [N, (T - 1) hop + L].

    Frames are cut into pieces of `hop` elements. The first pieces of all frames side by side are a signal, and so are
    the second, which begin one piece later.
    """
    length = meta(frames).shape[2]
    count = -(-length // hop)
    if count * hop > length:
        frames = b(aten.ConstantPadNdOp, frames, (0, count * hop - length), 0)
    batch = b.size(frames, 0)
    total: SSAValue | None = None
    for i in range(count):
        line = b.view(b(aten.SliceTensorOp, frames, 2, i * hop, (i + 1) * hop), (batch, -1))
        line = b(aten.ConstantPadNdOp, line, (i * hop, (count - 1 - i) * hop), 0)
        total = line if total is None else b(aten.AddTensorOp, total, line)
    assert total is not None
    return b(aten.SliceTensorOp, total, 1, 0, length - count * hop) if count * hop > length else total


def _window(b: Chain, op: aten.StftOp | aten.IstftOp, length: int) -> SSAValue | None:
    """The factors of the elements of a frame: a shorter window is centred in it."""
    width: int = length if op.win_length is None else op.win_length
    window = op.window
    if width == length:
        return window
    if window is None:
        window = b.full((width,), 1, meta(op.self).dtype)
    before = (length - width) // 2
    return b(aten.ConstantPadNdOp, window, (before, length - width - before), 0)
