"""Torch's samples of operators as TOSA files, executed by et-vm."""

from __future__ import annotations

import pytest
from delegated_samples import wrong_samples
from sweep.samples import entries

from et_ir.backends.tosa import TosaCompileSpec, TOSAPartitioner

SAMPLES = {"f32": 2, "bool": 1, "i32": 1}
"""Samples of each entry by element type."""


@pytest.mark.sweep
@pytest.mark.parametrize("entry", entries())
def test_samples(entry: str) -> None:
    partitioner = TOSAPartitioner(TosaCompileSpec("TOSA-1.0+FP+INT"))
    found = wrong_samples(entry, SAMPLES, partitioner)
    assert not found, "\n".join(f"{sample}: {reason}" for sample, reason in found.items())
