"""Write the page of the digits network: python -m examples.digits_page digits.o -o digits.html

`digits.o` is the network as an object of WebAssembly, as `et-compile --target wasm32 --emit object` makes it; `make -C
examples/digits_page` does both. LLVM's linker in `ziglang` makes a module of it, and the page has the module as base64:
it is one file, and asks for nothing.
"""

from __future__ import annotations

import argparse
import base64
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from et_schema.files import atomic_writer

__all__ = ["linked", "page"]

TEMPLATE: Final = Path(__file__).with_name("page.html")
EXPORTS: Final = ("digits_forward", "__heap_base")
STACK_BYTES: Final = 4096
MEMORY_BYTES: Final = 2 << 16
"""Two pages of WebAssembly: constants, the stack, and what a call needs."""


def linked(code: Path) -> bytes:
    """The module of an object. Raises RuntimeError with what the linker says."""
    with TemporaryDirectory() as folder:
        module = Path(folder, "digits.wasm")
        options = ["--no-entry", "--strip-all", "-z", f"stack-size={STACK_BYTES}"]
        memory = [f"--initial-memory={MEMORY_BYTES}", f"--max-memory={MEMORY_BYTES}"]
        command = [sys.executable, "-m", "ziglang", "wasm-ld", *options, *memory]
        command += [*(f"--export={name}" for name in EXPORTS), str(code), "-o", str(module)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"wasm-ld: {done.stderr.strip()}")
        return module.read_bytes()


def page(module: bytes, arena_bytes: int) -> str:
    """The text of the page for a module whose function needs an arena of some bytes."""
    text = TEMPLATE.read_text("utf-8")
    return text.replace("{{MODULE}}", base64.b64encode(module).decode()).replace(
        "{{ARENA}}", str(arena_bytes)
    )


def arena_bytes(header: Path) -> int:
    """The size of the arena, from the header beside an object. Raises ValueError for another header."""
    for line in header.read_text("utf-8").splitlines():
        if line.startswith("#define DIGITS_ARENA_BYTES "):
            return int(line.split()[2])
    raise ValueError(f"{header} has no DIGITS_ARENA_BYTES")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m examples.digits_page",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("object", type=Path, help="digits.o, with digits.h beside it")
    parser.add_argument("-o", "--output", type=Path, default=Path("digits.html"))
    args = parser.parse_args(arguments)
    try:
        text = page(linked(args.object), arena_bytes(args.object.with_suffix(".h")))
        with atomic_writer(args.output) as stream:
            stream.write(text.encode())
    except (OSError, RuntimeError, ValueError) as error:
        print(f"examples.digits_page: error: {error}", file=sys.stderr)
        return 1
    print(f"{args.output}: {len(text.encode()):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
