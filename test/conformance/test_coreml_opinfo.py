"""Torch's samples of operators as ML programs, evaluated by et-vm."""

from __future__ import annotations

import pytest
from delegated_samples import wrong_samples
from sweep.samples import entries

from et_ir.backends.coreml import CoreMLPartitioner
from et_schema.errors import ExecutorchError

SAMPLES = {"f32": 2, "bool": 1, "i64": 1}
"""Samples of each entry by element type."""
LARGE = {("masked.argmax", "i64"), ("masked.logsumexp", "i64")}
"""Those that fill in the least integer of 64 bits, which et-vm refuses: Core ML's have 32."""


@pytest.mark.sweep
@pytest.mark.parametrize("entry", entries())
def test_samples(entry: str) -> None:
    limits = {dtype: limit for dtype, limit in SAMPLES.items() if (entry, dtype) not in LARGE}
    found = wrong_samples(entry, limits, CoreMLPartitioner())
    assert not found, "\n".join(f"{sample}: {reason}" for sample, reason in found.items())


@pytest.mark.parametrize(("entry", "dtype"), sorted(LARGE))
def test_large_integers_are_refused(entry: str, dtype: str) -> None:
    with pytest.raises(ExecutorchError, match="has integers that int32 does not hold"):
        wrong_samples(entry, {dtype: 1}, CoreMLPartitioner())
