"""Program that compiles a model and writes what OpenVINO exports of it: `python export_model.py MODEL.xml DEVICE BLOB`.

It runs in a process of its own: OpenVINO names nodes by counting all that the process has made, and the names are in
the blob, which is to depend on the model alone.
"""

from __future__ import annotations

import sys
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

__all__ = ["export"]


def export(model: str | Path, device: str, blob: str | Path) -> None:
    """Write the blob of the model in a file. Raises RuntimeError where it cannot be compiled."""
    openvino: Any = import_module("openvino")
    core = openvino.Core()
    stream: Any = core.compile_model(core.read_model(model), device, {}).export_model()
    Path(blob).write_bytes(stream.getvalue() if isinstance(stream, BytesIO) else bytes(stream))


if __name__ == "__main__":
    try:
        export(*sys.argv[1:])
    except RuntimeError as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        sys.exit(lines[-1] if lines else type(error).__name__)
