"""Damaged blobs of the backends that interpret them: they run, or a typed error says why not."""

from __future__ import annotations

from random import Random

import pytest
from fuzz.blobs import FORMATS, REFUSALS, damaged_blob, run_blob

from et_schema.errors import Error
from et_vm.platform import Platform
from et_vm.work import WorkMeter


@pytest.mark.sweep
@pytest.mark.parametrize("first", range(0, 4000, 40))
@pytest.mark.parametrize("backend", FORMATS)
def test_damaged_blobs(backend: str, first: int) -> None:
    outcomes: set[str] = set()
    for seed in range(first, first + 40):
        blob = damaged_blob(backend, Random(seed))
        outcomes.add(run_blob(backend, blob, Platform(memory_limit=4 << 20), WorkMeter(10**8)))
    assert outcomes <= {*REFUSALS, "ran", "too large to make arguments for"}


@pytest.mark.parametrize("backend", FORMATS)
def test_blobs_without_damage(backend: str) -> None:
    outcomes: set[str] = set()
    for seed in range(10):
        blob = FORMATS[backend].make(Random(seed))
        outcomes.add(run_blob(backend, blob, Platform(memory_limit=64 << 20), WorkMeter(10**9)))
    assert "ran" in outcomes
    # An operation makes other elements of its operands than numpy does.
    assert outcomes <= {"ran", Error.DelegateInvalidCompatibility.name}
