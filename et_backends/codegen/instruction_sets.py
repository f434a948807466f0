"""Instruction sets that code is compiled for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

__all__ = ["INSTRUCTION_SETS", "InstructionSet"]


@dataclass(frozen=True)
class InstructionSet:
    """A level of an architecture that code is compiled for."""

    name: str
    triple: str
    cpu: str
    features: str
    """LLVM's names of the features beyond the CPU's own."""
    lanes: int
    """Elements of 32 bits in a vector register."""
    registers: int
    """Vector registers."""
    cpu_flags: tuple[str, ...]
    """Features that a machine must have to run the code, by the names that Linux gives them."""
    dot_product: tuple[str, str] | None = None
    """The feature with an instruction for products of bytes that code may use, by LLVM's and by Linux's name."""
    dual_products: bool = False
    """Whether it has Arm's instruction that adds two products of 16 bits."""
    helium: bool = False
    """Whether its vectors are those of Arm's microcontrollers."""
    index_bits: int = 64
    """Bits of sizes and places, which are those of an address."""
    small: bool = False
    """Whether code is to be small: register tiles have one row."""
    fine: bool = False
    """Whether parallel loops are to have many short iterations, for processors that run thousands at a time."""
    relocation: str = "pic"
    """LLVM's name of the relocation model."""
    soft_float: bool = False
    """Whether floats are computed by functions, as there is no unit for them."""
    large_stack: bool = True
    """Whether kernels may take more than some kilobytes of the stack."""
    abi: str = ""
    """LLVM's name of the calling convention where it is not that of the triple."""

    def with_dot_products(self) -> InstructionSet:
        """The same level, with the instruction for products of bytes if there is one."""
        if self.dot_product is None:
            return self
        ours, linux = self.dot_product
        features = f"{self.features},{ours}" if self.features else ours
        return replace(self, features=features, cpu_flags=(*self.cpu_flags, linux), dot_product=None)


INSTRUCTION_SETS: Final = {
    one.name: one
    for one in (
        InstructionSet(
            "x86-64-v4",
            "x86_64-unknown-linux-gnu",
            "x86-64-v4",
            "-prefer-256-bit",
            16,
            32,
            ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx2", "fma"),
            ("+avx512vnni", "avx512_vnni"),
        ),
        InstructionSet(
            "x86-64-v3", "x86_64-unknown-linux-gnu", "x86-64-v3", "", 8, 16, ("avx2", "fma", "bmi2")
        ),
        InstructionSet("aarch64", "aarch64-unknown-linux-gnu", "generic", "+neon", 4, 32, ("asimd",)),
    )
}
"""Levels by name, the most capable of each architecture first."""
