"""Factorisations count when they make the matrix, and only then."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from factorizations import Parts, check_eig, check_eigh, check_qr, check_svd
from sweep.reconstruct import FREE, reconstruction
from sweep.samples import Sample, samples

MATRIX = torch.randn(2, 4, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
SIGNS = torch.tensor([1.0, -1.0, -1.0, 1.0], dtype=torch.float64)

Check = Callable[[Parts, Parts], None]
CASES: dict[str, tuple[Check, Parts, Parts]] = {
    "svd": (
        lambda got, want: check_svd(MATRIX, got, want),
        (svd := tuple(torch.linalg.svd(MATRIX))),
        (svd[0] * SIGNS, svd[1], svd[2] * SIGNS[:, None]),
    ),
    "eigh": (
        lambda got, want: check_eigh(MATRIX, "U", got, want),
        (eigh := tuple(torch.linalg.eigh(MATRIX, UPLO="U"))),
        (eigh[0], eigh[1] * SIGNS),
    ),
    "eig": (
        lambda got, want: check_eig(MATRIX, got, want),
        (eig := tuple(torch.linalg.eig(MATRIX))),
        (eig[0].flip(-1), eig[1].flip(-1) * 1j),
    ),
    "qr": (
        lambda got, want: check_qr(MATRIX, got, want),
        (qr := tuple(torch.linalg.qr(MATRIX))),
        (qr[0] * SIGNS, qr[1] * SIGNS[:, None]),
    ),
}
"""A check, torch's parts, and others that make the same matrix."""


@pytest.mark.parametrize("name", CASES)
def test_signs_and_phases_are_free(name: str) -> None:
    check, torch_s, others = CASES[name]
    check(torch_s, torch_s)
    check(others, torch_s)


@pytest.mark.parametrize("name", CASES)
def test_each_part_counts(name: str) -> None:
    """One part changed alone, and all lengthened, are no factorisation."""
    check, torch_s, others = CASES[name]
    for at in range(len(torch_s)):
        for wrong in (torch_s[at] * 1.001, torch_s[at].roll(1, -1), torch.full_like(torch_s[at], torch.nan)):
            with pytest.raises(AssertionError):
                check([*others[:at], wrong, *others[at + 1 :]], torch_s)
        with pytest.raises(AssertionError):
            check([*others[:at], others[at].to(torch.complex64), *others[at + 1 :]], torch_s)


def test_a_triangle_must_be_one() -> None:
    """A product that makes the matrix does not do if R has something below its diagonal."""
    q, r = torch.linalg.qr(MATRIX)
    turn = torch.linalg.qr(torch.randn(4, 4, dtype=torch.float64))[0]
    with pytest.raises(AssertionError):
        check_qr(MATRIX, (q @ turn, turn.mH @ r), (q, r))


def _samples(entry: str) -> list[Sample]:
    found = [sample for sample in samples(entry, "f64", limit=8) if all(r.numel() for r in sample.results)]
    assert found
    return found


@pytest.mark.parametrize("entry", FREE)
def test_samples(entry: str) -> None:
    """Torch's own results pass, turned by a phase too, and others do not."""
    for sample in _samples(entry):
        assert reconstruction(sample, sample.results) is None
        for at, part in enumerate(sample.results):
            wrong = [*sample.results[:at], part + 0.01, *sample.results[at + 1 :]]
            assert reconstruction(sample, wrong) is not None, (sample, at)
        assert reconstruction(sample, sample.results[1:]) is not None
