"""Matching of wrong results with known stock kernel faults."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from stock_faults import stock_kernels

from et_vm.interchange import to_torch
from et_vm.runtime import Runtime

FAULT = "fault: "
"""The prefix of an outcome that is a fault."""


def modelled(file: bytes, inputs: Sequence[torch.Tensor]) -> tuple[list[Any], set[str]]:
    """The results of a file with the stock runtime's faults, and the operators that have them."""
    seen: set[str] = set()
    method = Runtime.get().load_program(file, kernels=stock_kernels(seen)).load_method("forward")
    results = method.execute([value.clone() for value in inputs])
    return [to_torch(value) if isinstance(value, np.ndarray) else value for value in results], seen


def explanation(file: bytes, inputs: Sequence[torch.Tensor], results: Sequence[Any]) -> str | None:
    """The operators whose faults give `file` these results, as an outcome; None if they do not."""
    expected, seen = modelled(file, inputs)
    if not seen or len(results) != len(expected) or not all(map(same, results, expected)):
        return None
    return FAULT + ", ".join(sorted(seen))


def same(got: Any, expected: Any) -> bool:
    """Whether results are equal up to the rounding of float32, in which faults are modelled."""
    if not isinstance(expected, torch.Tensor) or not isinstance(got, torch.Tensor):
        return bool(got == expected)
    if (got.dtype, got.shape) != (expected.dtype, expected.shape):
        return False
    coarse = {torch.float16: 2e-3, torch.bfloat16: 1.6e-2}
    close = coarse.get(got.dtype, 1e-5 if got.is_floating_point() or got.is_complex() else 0.0)
    scale = float(expected.abs().nan_to_num(0, 0, 0).max()) if close and expected.numel() else 0.0
    return torch.allclose(got, expected, rtol=close, atol=close * scale, equal_nan=True)
