"""Generated sources and pages are what their generators give now."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    "module",
    [
        "et_schema.generate",
        "et_ir.registry.snapshot",
        "et_ir.registry.generate",
        "et_ir.passes.document",
        "et_ir.passes.document_operators",
        "et_vm.document",
    ],
)
def test_is_current(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", module, "--check"], check=False, cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
