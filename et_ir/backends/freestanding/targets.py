"""Processors that freestanding objects are compiled for."""

from __future__ import annotations

from typing import Final

from et_ir.backends.native.object_code import InstructionSet

__all__ = ["FREESTANDING_TARGETS"]

FREESTANDING_TARGETS: Final = {
    one.name: one
    for one in (
        InstructionSet(
            "cortex-m4",
            "thumbv7em-none-unknown-eabihf",
            "cortex-m4",
            "",
            1,
            0,
            (),
            index_bits=32,
            small=True,
            relocation="static",
        ),
        InstructionSet("aarch64", "aarch64-unknown-none-elf", "generic", "+neon", 4, 32, ("asimd",)),
        InstructionSet("x86-64", "x86_64-unknown-none-elf", "x86-64", "", 4, 16, ("sse2",)),
    )
}
"""By the names that `et-compile --target` takes."""
