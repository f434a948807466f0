"""Generated sources and pages are what their generators give now."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


QUICK = (
    "dev.snapshot",
    "dev.document_passes",
    "dev.document_reference",
    "dev.document_tables",
    "dev.soft_float",
)
ELSEWHERE = {
    "dev.dtype_probe": "test/conformance/test_edge_dtypes.py",
    "dev.examples": "test/conformance/test_operator_examples.py",
    "dev.targets": "test/unit/tools/test_targets.py",
}
"""Generators that run torch, or a runtime, and the test that runs them."""


def _generators() -> set[str]:
    """The modules that can check what they generate."""
    found: set[str] = set()
    for package, name in (
        ("dev",) * 2,
        ("et_backends",) * 2,
        ("et_ir",) * 2,
        ("et_schema",) * 2,
        ("et_vm",) * 2,
        ("tools", "et_tools"),
    ):
        for path in (ROOT / package).rglob("*.py"):
            if '"--check"' in path.read_text(encoding="utf-8"):
                place = path.relative_to(ROOT / package).with_suffix("")
                found.add(".".join((name, *place.parts)))
    return found


def test_make_runs_every_generator() -> None:
    recipe = (
        (ROOT / "Makefile").read_text(encoding="utf-8").partition("\nregenerate:")[2].partition("\n\n")[0]
    )
    assert set(re.findall(r"-m (\S+)", recipe)) == _generators()


def test_every_generator_is_checked() -> None:
    assert {*QUICK, *ELSEWHERE} == _generators()
    for module, test in ELSEWHERE.items():
        assert module.rpartition(".")[2] in (ROOT / test).read_text(encoding="utf-8")


@pytest.mark.parametrize("module", QUICK)
def test_is_current(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", module, "--check"], check=False, cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
