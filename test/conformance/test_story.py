"""The example that trains a language model: with few steps it learns little, but everything agrees."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_agrees_with_eager(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "examples.story", "--steps", "12", "--output-dir", str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "200 tokens, as eager torch: yes" in ran.stdout
    assert "from a saved session, the same text: yes" in ran.stdout
    assert (tmp_path / "manual" / "model.safetensors").is_file()
