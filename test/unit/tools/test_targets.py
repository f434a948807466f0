"""Target manifests against the kernels of the runtimes."""

import warnings

import pytest

from dev.targets import FOLDER, TARGETS, manifest


@pytest.mark.parametrize("target", TARGETS)
def test_manifests_are_current(target: str) -> None:
    path = FOLDER / f"{target}.txt"
    with warnings.catch_warnings(
        action="ignore"
    ):  # of the stock package about its own use of deprecated functions
        current = manifest(target)
    assert path.read_text(encoding="utf-8") == current, "run python -m dev.targets"
