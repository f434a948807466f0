"""Soft-float routines as LLVM assembly, from `et_backends/freestanding/compiler/soft_float.c`.

python -m dev.soft_float            # write
python -m dev.soft_float --check    # exit 1 if the file is out of date

The compiler is clang, of the version of `ziglang` in constraints.txt.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "et_backends" / "freestanding" / "compiler"
SOURCE, TARGET = FOLDER / "soft_float.c", FOLDER / "soft_float.ll"
OPTIONS = (
    "-target",
    "riscv32-freestanding",
    "-mcpu=generic_rv32+m",
    "-Oz",
    "-fno-builtin",
    "-fno-unroll-loops",
)
HEAD = "; Made of soft_float.c by python -m dev.soft_float.\n"


def assembly() -> str:
    """The functions as LLVM assembly that is for any processor of 32 bits."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "soft_float.ll"
        caches = {"ZIG_GLOBAL_CACHE_DIR": folder, "ZIG_LOCAL_CACHE_DIR": folder}
        command = [sys.executable, "-m", "ziglang", "cc", *OPTIONS, "-fno-sanitize=undefined"]
        subprocess.run(
            [*command, "-S", "-emit-llvm", SOURCE, "-o", made],
            check=True,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **caches},
        )
        text = made.read_text("utf-8")
    functions = re.findall(r"^define .*?^}\n", text, flags=re.MULTILINE | re.DOTALL)
    return HEAD + "".join(f"\n{_plain(one)}" for one in functions)


def _plain(text: str) -> str:
    """A function without what is of one processor, or of its place in the C source."""
    for pattern in (r" dso_local", r" local_unnamed_addr", r" range\([^)]*\)", r" noundef", r" #\d+"):
        text = re.sub(pattern, "", text)
    text = re.sub(r",? !\w[\w.]* !\d+", "", text)
    text = re.sub(r" *; preds = .*", "", text)
    return text.replace("define ", "define internal ", 1)


def main(arguments: list[str] | None = None) -> int:
    """Write the file, or check that it is up to date. Returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args(arguments)
    made = assembly()
    if args.check:
        if TARGET.read_text("utf-8") != made:
            print(f"{TARGET.name} is out of date: python -m dev.soft_float", file=sys.stderr)
            return 1
        return 0
    TARGET.write_text(made, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
