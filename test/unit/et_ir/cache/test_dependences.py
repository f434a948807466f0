"""Source dependences of cache keys: every file of the packages that may take part."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from et_ir.cache.dependences import code_digest, compiler_digest, versions


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    """Digests of packages of a test are those of that test."""
    yield
    code_digest.cache_clear()


def _digest(name: str) -> str | None:
    code_digest.cache_clear()
    return code_digest(name)


def test_modules_of_this_project():
    assert code_digest("et_ir.cache.store") == code_digest("et_backends.native") == compiler_digest()


@pytest.mark.parametrize("file", ["__init__.py", "inner/late.py", "table.json"])
def test_every_file_of_a_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str):
    """Also what is imported within functions, and data."""
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("__init__.py", "backend.py", "inner/late.py", "table.json"):
        path = tmp_path / "digested_package" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("1\n")
    found = _digest("digested_package.backend")
    assert found not in (None, compiler_digest())
    path = tmp_path / "digested_package" / file
    (path.parent / "__pycache__").mkdir()
    (path.parent / "__pycache__" / "x.pyc").write_text("2\n")
    assert _digest("digested_package.backend") == found
    path.write_text("2\n")
    changed = _digest("digested_package.backend")
    assert changed not in (None, found)
    path.rename(path.with_suffix(".other"))
    assert _digest("digested_package.backend") not in (None, found, changed)


def test_module_outside_of_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "digested_module.py").write_text("")
    assert _digest("digested_module") is None
    assert _digest("__main__") is None


def test_versions_of_the_compiler():
    assert {"python", "torch", "xdsl", "llvmlite", "numpy"} <= {*versions()}
    assert versions(["no-such-distribution"])["no-such-distribution"] == "none"
