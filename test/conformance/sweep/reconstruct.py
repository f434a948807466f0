"""Results that torch does not determine, held against the matrix that they are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from factorizations import check_eig, check_eigh, check_low_rank, check_qr, check_svd

from sweep.samples import Sample

Check = Callable[[Sample, Sequence[Any]], None]


def _of_arguments(
    check: Callable[[tuple[Any, ...], dict[str, Any], Sequence[Any], Sequence[Any]], None],
) -> Check:
    """A check of the arguments that the sample's operator has."""

    def run(sample: Sample, got: Sequence[Any]) -> None:
        args, kwargs = sample.module.arguments(sample.inputs)
        check(args, kwargs, got, sample.results)

    return run


def _svd(args: tuple[Any, ...], kwargs: dict[str, Any], got: Sequence[Any], expected: Sequence[Any]) -> None:
    check_svd(args[0], got, expected)


def _old_svd(
    args: tuple[Any, ...], kwargs: dict[str, Any], got: Sequence[Any], expected: Sequence[Any]
) -> None:
    """`torch.svd`, whose last result is V."""
    assert kwargs.get("compute_uv", True), "nothing is free of the values alone"
    check_svd(args[0], [got[0], got[1], got[2].mH], [expected[0], expected[1], expected[2].mH])


def _low_rank(
    args: tuple[Any, ...], kwargs: dict[str, Any], got: Sequence[Any], expected: Sequence[Any]
) -> None:
    """`torch.svd_lowrank` and `pca_lowrank` of the product that OpInfo makes."""
    matrix = args[0] @ args[1].mT
    if kwargs.get("M") is not None:
        matrix = matrix - kwargs["M"]
    if kwargs.get("center", False):
        matrix = matrix - matrix.mean(-2, keepdim=True)
    check_low_rank(matrix, got, expected)


FREE: dict[str, Check] = {
    "linalg.eig": _of_arguments(lambda args, kwargs, got, want: check_eig(args[0], got, want)),
    "linalg.eigh": _of_arguments(
        lambda args, kwargs, got, want: check_eigh(args[0], kwargs.get("UPLO", "L"), got, want)
    ),
    "linalg.qr": _of_arguments(lambda args, kwargs, got, want: check_qr(args[0], got, want)),
    "linalg.svd": _of_arguments(_svd),
    "pca_lowrank": _of_arguments(_low_rank),
    "qr": _of_arguments(lambda args, kwargs, got, want: check_qr(args[0], got, want)),
    "svd": _of_arguments(_old_svd),
    "svd_lowrank": _of_arguments(_low_rank),
}
"""By entry, what holds of its results whatever signs, phases and bases were chosen."""


def reconstruction(sample: Sample, results: Sequence[Any]) -> str | None:
    """The difference between the sample's matrix and the product of the results, None if they are a factorization."""
    if len(results) != len(sample.results) or not all(isinstance(part, torch.Tensor) for part in results):
        return f"{len(results)} results, expected {len(sample.results)} tensors"
    try:
        FREE[sample.entry](sample, results)
    except AssertionError as problem:
        lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
        return f"no factorisation: {' '.join(lines[:2])}"
    return None
