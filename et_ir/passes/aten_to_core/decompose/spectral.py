"""Fourier transforms of frames. Torch's decomposition views them by strides that have to be static."""

from __future__ import annotations

from xdsl.ir import SSAValue

from et_ir.dialects.aten import ops as aten
from et_ir.passes.aten_to_core.decompose.chain import Chain, Reason, decomposes, is_static, meta

_BY_ROOT = 1
"""The number of the normalisation that divides by the root of the number of elements."""


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
    norm = _BY_ROOT if op.normalized else 0
    if not meta(pieces).dtype.is_complex:
        onesided = True if op.onesided is None else op.onesided
        found = b(aten.UnderscoreFftR2cOp, pieces, (last,), norm, onesided)
    else:
        found = b(aten.UnderscoreFftC2cOp, pieces, (last,), norm, True)
    found = b.permute(found, (*range(last - 1), last, last - 1))
    return found if op.return_complex else b(aten.ViewAsRealOp, found)


def _window(b: Chain, op: aten.StftOp, length: int) -> SSAValue | None:
    """The factors of the elements of a frame: a shorter window is centred in it."""
    width: int = length if op.win_length is None else op.win_length
    window = op.window
    if width == length:
        return window
    if window is None:
        window = b.full((width,), 1, meta(op.self).dtype)
    before = (length - width) // 2
    return b(aten.ConstantPadNdOp, window, (before, length - width - before), 0)
