"""Compilation of the C runtime with `ziglang` or another compiler."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from et_schema.errors import Error, ExecutorchError
from et_schema.processes import python

__all__ = ["TARGETS", "compile_archive", "compiler_of"]

TARGETS: Final[dict[str, tuple[str, ...]]] = {
    "cortex-m0plus": ("-target", "thumb-freestanding-eabi", "-mcpu=cortex_m0plus"),
    "cortex-m4": ("-target", "thumb-freestanding-eabihf", "-mcpu=cortex_m4+vfp4d16sp"),
    "cortex-m7": ("-target", "thumb-freestanding-eabihf", "-mcpu=cortex_m7+fp_armv8d16sp"),
    "cortex-m33": ("-target", "thumb-freestanding-eabihf", "-mcpu=cortex_m33+fp_armv8d16sp"),
    "riscv32imac": ("-target", "riscv32-freestanding-none", "-mcpu=generic_rv32+m+a+c"),
    "wasm32": ("-target", "wasm32-freestanding"),
    "host": (),
}
"""Arguments of `zig cc` by target."""
FLAGS: Final = (
    *("-std=c11", "-Os", "-ffunction-sections", "-fdata-sections", "-fno-sanitize=all", "-Wall", "-Wextra"),
    # Copies of functions in their callers take twice as much memory.
    *("-fno-inline-functions", "-fno-unwind-tables", "-fno-asynchronous-unwind-tables"),
)


def compiler_of(target: str, given: str | None) -> list[str] | None:
    """The command that compiles for a target: `given` with its own options, `cc` for this machine if there is one, or
    that of `ziglang`; None where there is none. Raises ExecutorchError(NotFound) for a command that is not there.
    """
    if given is not None:
        try:
            command = shlex.split(given)
        except ValueError:  # a quotation without an end
            command = []
        if not command or shutil.which(command[0]) is None:
            raise ExecutorchError(
                Error.NotFound,
                f"compiler not found: {given!r}",
                hint="et-vm build --cc takes a command with its options",
            )
        return command
    if target == "host" and shutil.which("cc") is not None:
        return ["cc"]
    if find_spec("ziglang") is None:
        return None
    return python("-m", "ziglang", "cc", *TARGETS[target])


def compile_archive(folder: Path, sources: Sequence[str], command: Sequence[str], target: str) -> Path:
    """Compile the sources in `folder` to objects, and archive these in `libet_micro.a`.

    Raises ExecutorchError(Internal) with the compiler's output.
    """
    freestanding = ("-ffreestanding",) if target != "host" else ("-fPIC",)
    objects: list[str] = []
    for source in sources:
        made = source.removesuffix(".c") + ".o"
        _run([*command, *FLAGS, *freestanding, "-c", source, "-o", made], folder)
        objects.append(made)
    archive = folder / "libet_micro.a"
    archive.unlink(missing_ok=True)
    zig = list(command[:3]) if command[1:3] == ["-m", "ziglang"] else None
    archiver = [*zig, "ar"] if zig else [_archiver(command[0])]
    _run([*archiver, "rcs", archive.name, *objects], folder)
    return archive


def _archiver(compiler: str) -> str:
    """`arm-none-eabi-ar` for `arm-none-eabi-gcc`."""
    prefix = compiler.removesuffix("gcc").removesuffix("clang").removesuffix("cc")
    own = f"{prefix}ar"
    return own if shutil.which(own) is not None else "ar"


def _run(command: Sequence[str], folder: Path) -> None:
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, env=dict(os.environ)
    )
    if done.returncode:
        raise ExecutorchError(
            Error.Internal,
            f"the compiler failed: {shlex.join(command)}\n{done.stderr.strip()}",
            hint="et-vm build --cc names another compiler, with its options",
        )
