"""Program that compiles a model and writes what OpenVINO exports of it.

`python export_model.py MODEL.xml DEVICE BLOB LIBRARY` runs in a process of its own: OpenVINO names nodes by counting
all of the process, and the names are in the blob, which is to depend on the model alone. It takes OpenVINO's C
interface, whose library is `LIBRARY`: importing the package takes longer than compiling a small model.
"""

from __future__ import annotations

import ctypes
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

__all__ = ["export", "library"]


def library() -> str:
    """The library of the C interface, of the package that is installed. Raises ModuleNotFoundError without it."""
    found = find_spec("openvino")
    folders = [] if found is None else found.submodule_search_locations or []
    paths = sorted(path for folder in folders for path in Path(folder, "libs").glob("*openvino_c.*"))
    if not paths:
        raise ModuleNotFoundError("there is no library of OpenVINO's C interface", name="openvino")
    return str(paths[0])


def export(model: str | Path, device: str, blob: str | Path, path: str | None = None) -> None:
    """Write the blob of the model in a file; `path` is the library.

    Raises RuntimeError where it cannot be compiled, and OSError where it cannot be written.
    """
    openvino = ctypes.CDLL(path or library())
    openvino.ov_get_last_err_msg.restype = ctypes.c_char_p

    def call(name: str, *args: Any) -> None:
        if getattr(openvino, f"ov_{name}")(*args):
            message: bytes = openvino.ov_get_last_err_msg() or b""
            raise RuntimeError(message.decode(errors="replace") or f"{name} failed")

    core, read, compiled = (ctypes.c_void_p() for _ in range(3))
    try:
        call("core_create", ctypes.byref(core))
        call("core_read_model", core, os.fsencode(model), None, ctypes.byref(read))
        call("core_compile_model", core, read, device.encode(), ctypes.c_size_t(0), ctypes.byref(compiled))
        if hasattr(os, "memfd_create"):
            # OpenVINO says nothing where a disk is full: it writes to memory, and Python to the disk.
            with open(os.memfd_create("blob"), "rb") as stream:
                call("compiled_model_export_model", compiled, f"/proc/self/fd/{stream.fileno()}".encode())
                Path(blob).write_bytes(stream.read())
        else:
            call("compiled_model_export_model", compiled, os.fsencode(blob))
    finally:
        for kind, made in (("compiled_model", compiled), ("model", read), ("core", core)):
            if made:
                getattr(openvino, f"ov_{kind}_free")(made)


if __name__ == "__main__":
    try:
        export(*sys.argv[1:])
    except (OSError, RuntimeError) as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        sys.exit(lines[-1] if lines else type(error).__name__)
