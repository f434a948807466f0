"""Processors that freestanding objects are compiled for."""

from __future__ import annotations

from typing import Final

from et_backends.codegen.instruction_sets import InstructionSet

__all__ = ["FREESTANDING_TARGETS"]


def _small(
    name: str,
    triple: str,
    cpu: str,
    features: str = "",
    *,
    index_bits: int = 32,
    abi: str = "",
    dual_products: bool = False,
    soft_float: bool = False,
) -> InstructionSet:
    """A processor without vectors."""
    return InstructionSet(
        name,
        triple,
        cpu,
        features,
        lanes=1,
        registers=0,
        cpu_flags=(),
        dual_products=dual_products,
        index_bits=index_bits,
        small=True,
        relocation="static",
        large_stack=False,
        soft_float=soft_float,
        abi=abi,
    )


FREESTANDING_TARGETS: Final = {
    one.name: one
    for one in (
        _small("cortex-m0plus", "thumbv6m-none-unknown-eabi", "cortex-m0plus", soft_float=True),
        _small("cortex-m4", "thumbv7em-none-unknown-eabihf", "cortex-m4", dual_products=True),
        _small("cortex-m7", "thumbv7em-none-unknown-eabihf", "cortex-m7", dual_products=True),
        _small("cortex-m33", "thumbv8m.main-none-unknown-eabihf", "cortex-m33", dual_products=True),
        InstructionSet(
            "cortex-m55",
            "thumbv8.1m.main-none-unknown-eabihf",
            "cortex-m55",
            "",
            lanes=4,
            registers=8,
            cpu_flags=(),
            helium=True,
            index_bits=32,
            relocation="static",
            large_stack=False,
        ),
        _small(
            "riscv32imac",
            "riscv32-unknown-none-elf",
            "generic-rv32",
            "+m,+a,+c",
            abi="ilp32",
            soft_float=True,
        ),
        _small(
            "riscv64gc",
            "riscv64-unknown-none-elf",
            "generic-rv64",
            "+m,+a,+f,+d,+c",
            index_bits=64,
            abi="lp64d",
        ),
        InstructionSet(
            "riscv64gcv",
            "riscv64-unknown-none-elf",
            "generic-rv64",
            "+m,+a,+f,+d,+c,+v",
            lanes=4,
            registers=8,  # of 32: none is kept on the stack, where its size is not known
            cpu_flags=(),
            relocation="static",
            large_stack=False,
            abi="lp64d",
        ),
        _small("wasm32", "wasm32-unknown-unknown", "mvp"),
        InstructionSet(
            "aarch64", "aarch64-unknown-none-elf", "generic", "+neon", 4, 32, ("asimd",), large_stack=False
        ),
        InstructionSet(
            "x86-64", "x86_64-unknown-none-elf", "x86-64", "", 4, 16, ("sse2",), large_stack=False
        ),
    )
}
"""By the names that `et-compile --target` takes."""
