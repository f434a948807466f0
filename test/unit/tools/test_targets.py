"""What the manifests of the targets say is what the runtimes have."""

import pytest
from et_tools.targets import FOLDER, TARGETS, manifest


@pytest.mark.parametrize("target", TARGETS)
def test_manifests_are_current(target: str) -> None:
    path = FOLDER / f"{target}.txt"
    assert path.read_text(encoding="utf-8") == manifest(target), "run python -m et_tools.targets"
