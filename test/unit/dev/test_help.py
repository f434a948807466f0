"""Generators that are asked for help write nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
CONFORMANCE = ROOT / "test" / "conformance"
RUN = 'if __name__ == "__main__":'
GENERATORS = [
    *(f"dev.{path.stem}" for path in sorted((ROOT / "dev").glob("*.py")) if RUN in path.read_text()),
    "stock_probe",
]
ASKED = """
import pathlib, runpy, sys
name, *folders = sys.argv[1:]
sys.path += folders
sys.argv = [name, "--help"]
pathlib.Path.write_text = pathlib.Path.write_bytes = None
runpy.run_module(name, run_name="__main__", alter_sys=True)
"""


@pytest.mark.parametrize("generator", GENERATORS)
def test_help(generator: str) -> None:
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-c",
        ASKED,
        generator,
        *map(str, (CONFORMANCE.parent, CONFORMANCE)),
    ]
    done = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("usage:")
    source = ROOT.joinpath(*generator.split(".")).with_suffix(".py")
    if source.exists() and '"--check"' in source.read_text():
        assert "--check" in done.stdout
