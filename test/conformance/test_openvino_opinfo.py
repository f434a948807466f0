"""Torch's samples of operators as models for OpenVINO.

Where torch's result is NaN, OpenVINO's may be anything: its relu, clamp, maximum and exp give numbers for NaN.
"""

from __future__ import annotations

import pytest
from delegated_samples import wrong_samples
from sweep.samples import entries

from et_ir.backends.openvino import OpenvinoPartitioner, blob, export_model

SAMPLES = {"f32": 2, "bool": 1}
"""Samples of each entry by element type."""


@pytest.fixture(autouse=True)
def _compiled_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """No process for each model: that changes the names of nodes alone."""
    monkeypatch.setattr(blob, "export_apart", export_model.export)


@pytest.mark.sweep
@pytest.mark.parametrize("entry", entries())
def test_samples(entry: str) -> None:
    found = wrong_samples(entry, SAMPLES, OpenvinoPartitioner())
    assert not found, "\n".join(f"{sample}: {reason}" for sample, reason in found.items())
