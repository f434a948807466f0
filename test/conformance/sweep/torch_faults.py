"""Known wrong results of torch, and the values expected instead.

`test_torch_faults.py` proves each entry against values of many digits. The portable kernels are held against the
results that torch has of the same numbers in float64, rounded once; the aten library, which is torch, against torch's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from sweep.samples import DTYPES, Sample


@dataclass(frozen=True)
class TorchFault:
    """An entry of the database whose results torch gets wrong for some element types."""

    entry: str
    types: tuple[str, ...]
    """Short names, of floating-point types with fewer digits than float64."""
    does: str


TORCH_FAULTS = (
    TorchFault(
        "matrix_exp",
        ("f16", "bf16"),
        "NaN, or numbers unlike the exponential, even of small matrices",
    ),
)


def true_results(sample: Sample) -> tuple[Any, ...]:
    """The expected results of `sample`: torch's, or where those are wrong, its float64 ones rounded once."""
    if not any(f.entry == sample.entry and sample.dtype in f.types for f in TORCH_FAULTS):
        return sample.results
    low = DTYPES[sample.dtype]
    with torch.no_grad():
        results = sample.module(*(x.double() if x.dtype == low else x.clone() for x in sample.inputs))
    tensors = results if isinstance(results, tuple | list) else (results,)
    return tuple(
        result.to(low) if isinstance(result, torch.Tensor) and result.dtype == torch.float64 else result
        for result in tensors
    )
