"""Boxes of detectors: those that no better one overlaps."""

from __future__ import annotations

import numpy as np

from et_ops.inference.indexing import nms
from et_vm.kernels.portable.arguments import FLOAT, check_not_reduced
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.portable.inference import inferred
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step, resizing
from et_vm.values import Array, Tensor

_OPERATIONS = 16
"""Approximate work of comparing two boxes."""


@kernel("torchvision::nms.out")
@inferred(nms, kinds=(FLOAT,))
def nms_out(ctx: PrepareContext, dets: Tensor, scores: Tensor, iou_threshold: float, out: Tensor) -> Step:
    """The numbers of the boxes `dets` (n, 4), as left, top, right and bottom, that no box of a higher score among them
    overlaps by more than `iou_threshold`, intersection over union; by decreasing score, of equal ones the first first.
    The output gets its shape in the step, and numpy allocates.
    """
    check_not_reduced(ctx, dets, arg="dets")
    ctx.work(_OPERATIONS * dets.sizes[0] ** 2)
    return _suppress, (dets.array, scores.array, iou_threshold, out)


@resizing
def _suppress(boxes: Array, scores: Array, threshold: float, out: Tensor) -> None:
    order = _by_score(scores)
    left, top, right, bottom = boxes[order].T
    areas = (right - left) * (bottom - top)
    alive = np.ones(len(order), bool)
    for at in range(len(order)):
        if not alive[at]:
            continue
        rest = slice(at + 1, None)
        zero = areas.dtype.type(0)
        width = np.maximum(zero, np.minimum(right[at], right[rest]) - np.maximum(left[at], left[rest]))
        height = np.maximum(zero, np.minimum(bottom[at], bottom[rest]) - np.maximum(top[at], top[rest]))
        shared = width * height
        overlap = shared / (areas[at] + areas[rest] - shared)
        # The quotient has the type of the boxes, and is compared with the threshold as a double.
        alive[rest] &= ~(overlap.astype(np.float64) > threshold)
    kept = order[alive]
    out.resize(kept.shape)
    np.copyto(out.array, kept)


def _by_score(scores: Array) -> Array:
    """The places of scores, highest first; NaN counts as the highest, as in a sort of torch's."""
    is_nan = np.isnan(scores)
    numbers = np.flatnonzero(~is_nan)
    ranked = numbers[np.argsort(-scores[numbers], kind="stable")]
    return np.concatenate([np.flatnonzero(is_nan), ranked])
