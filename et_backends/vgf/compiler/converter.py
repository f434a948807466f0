"""Conversion from TOSA to VGF by Arm's ML SDK for Vulkan."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from et_schema.processes import python

__all__ = ["convert_tosa", "require_converter"]

_MODULE: Final = "model_converter.cli"
_MAIN: Final = f"import sys; from {_MODULE} import main; sys.exit(main())"


def require_converter() -> None:
    """Raise `ValueError` if the converter is not installed."""
    if find_spec("model_converter") is None:
        raise ValueError(
            "Arm's model converter is not installed: pip install ai_ml_sdk_model_converter, or the extra 'vgf'"
        )


def convert_tosa(tosa: bytes, flags: Sequence[str]) -> bytes:
    """Convert a TOSA file. Raises `ValueError` with the converter's message if it rejects the file."""
    require_converter()
    with TemporaryDirectory() as name:
        source, target = Path(name) / "network.tosa", Path(name) / "network.vgf"
        source.write_bytes(tosa)
        line = python("-c", _MAIN, *flags, "-i", str(source), "-o", str(target))
        done = subprocess.run(line, capture_output=True, text=True, check=False)
        if done.returncode or not target.exists():
            raise ValueError(f"the model converter cannot convert it: {_reason(done.stderr or done.stdout)}")
        return target.read_bytes()


def _reason(text: str) -> str:
    """The first error that the converter prints, or the last line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next(
        (line for line in lines if "error" in line.lower()), lines[-1] if lines else "it says nothing"
    )
