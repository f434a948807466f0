"""Operators of torchvision, registered for torch where torchvision is not installed: with its schemas and semantics."""

from __future__ import annotations

import math
from importlib.util import find_spec
from typing import Any, cast

import torch
from torch.library import Library

__all__ = ["LIBRARY", "nms"]

library: Any = torch.library


def nms(dets: torch.Tensor, scores: torch.Tensor, iou_threshold: float) -> torch.Tensor:
    """Non-maximum suppression of boxes `dets` (n, 4) by `scores` (n): the numbers of the boxes that are kept, by
    decreasing score. Written from its definition, a pair of boxes at a time.

    Raises `TypeError` and `ValueError` for what torchvision does not take.
    """
    if dets.dtype not in (torch.float32, torch.float64) or scores.dtype is not dets.dtype:
        raise TypeError(f"boxes of {dets.dtype}, scores of {scores.dtype}")
    if dets.shape[1:] != (4,) or scores.shape != dets.shape[:1]:
        raise ValueError(f"boxes of {list(dets.shape)}, scores of {list(scores.shape)}")
    order: list[int] = cast(Any, torch.sort(scores, stable=True, descending=True).indices).tolist()
    kept: list[int] = []
    for place in order:
        box = dets[place]
        if all(_overlap(dets[other], box) <= iou_threshold for other in kept):
            kept.append(place)
    return torch.tensor(kept, dtype=torch.int64)


def _overlap(one: torch.Tensor, other: torch.Tensor) -> float:
    """Intersection over union, in the type of the boxes; 0 where it is undefined, as that suppresses nothing."""
    zero = one.new_zeros(())
    least, most = torch.maximum(one[:2], other[:2]), torch.minimum(one[2:], other[2:])
    width, height = torch.maximum(most - least, zero)
    shared = width * height
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (one, other)]
    found = float(shared / (areas[0] + areas[1] - shared))
    return 0.0 if math.isnan(found) else found


def _nms_shape(dets: torch.Tensor, scores: torch.Tensor, iou_threshold: float) -> torch.Tensor:
    context: Any = library.get_ctx()
    size: Any = context.new_dynamic_size()
    return dets.new_empty((size,), dtype=torch.int64)


def _registered() -> Library | None:
    if find_spec("torchvision") is not None:
        return None
    made: Any = Library("torchvision", "FRAGMENT")
    made.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    made.impl("nms", nms, "CPU")
    library.register_fake("torchvision::nms", _nms_shape, lib=made)
    return made


LIBRARY = _registered()
"""Held here, as the operators go with it; None where torchvision has them."""
