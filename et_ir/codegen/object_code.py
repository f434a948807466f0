"""Object code of a module of xDSL's `llvm` dialect, by LLVM.

LLVM gets code whose loops are tiled and whose vectors are those of the machine, so few of its passes run: those that
clean up, none that vectorize or recognize idioms. The strength of induction variables is reduced by its code generator.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any, Final

from xdsl.dialects.builtin import ModuleOp

from et_ir.codegen.llvm_assembly import llvm_assembly

__all__ = [
    "INSTRUCTION_SETS",
    "InstructionSet",
    "assembly",
    "data_layout",
    "llvm_text",
    "llvmlite",
    "object_code",
    "require_llvm",
    "target_machine",
]


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


def llvm_text(module: ModuleOp, target: InstructionSet) -> str:
    """The module as LLVM assembly, before LLVM optimizes it."""
    return llvm_assembly(module, target.triple, data_layout(target))


def object_code(text: str, target: InstructionSet) -> bytes:
    """A relocatable ELF object of a module as LLVM assembly; the same bytes each time.

    LLVM runs beside Python: the interpreter's lock is free meanwhile.
    """
    machine, code = _optimized(text, target)
    return machine.emit_object(code)


def assembly(module: ModuleOp, target: InstructionSet) -> str:
    """The object of a module of the `llvm` dialect as assembly text."""
    machine, code = _optimized(llvm_text(module, target), target)
    return machine.emit_assembly(code)


def _optimized(text: str, target: InstructionSet) -> tuple[Any, Any]:
    machine = target_machine(target)
    binding = llvmlite("binding")

    code = binding.parse_assembly(text)
    code.link_in(binding.parse_assembly(_runtime_text(target)))
    options = binding.create_pipeline_tuning_options(speed_level=1)
    builder = binding.create_pass_builder(machine, options)
    passes = binding.create_new_module_pass_manager()
    passes.add_instruction_combine_pass()
    passes.add_new_gvn_pass()
    passes.add_simplify_cfg_pass()
    passes.run(code, builder)
    code.verify()
    return machine, code


@cache
def target_machine(target: InstructionSet) -> Any:
    """LLVM's code generator for a level of an architecture."""
    binding = llvmlite("binding")

    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    return binding.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu,
        features=target.features,
        opt=2,
        reloc=target.relocation,
        codemodel="small",
        abiname=target.abi,
    )


@cache
def data_layout(target: InstructionSet) -> str:
    """Sizes and alignments of the types, as LLVM has them."""
    return str(target_machine(target).target_data)


@cache
def _runtime_text(target: InstructionSet) -> str:
    """Barriers between threads, in LLVM assembly: xDSL's `llvm` has no atomic instructions."""
    text = files("et_ir.codegen").joinpath("threads.ll").read_text("utf-8")
    x86 = target.triple.startswith("x86_64")
    text = text.replace(
        "call void @PAUSE",
        "call void @llvm.x86.sse2.pause()" if x86 else "call void @llvm.aarch64.hint(i32 1)",
    )
    text = text.replace("@PAUSE", "@llvm.x86.sse2.pause()" if x86 else "@llvm.aarch64.hint(i32)")
    return f'target triple = "{target.triple}"\n' + text


# -- LLVM


def llvmlite(module: str) -> Any:
    """A module of llvmlite, which has no types."""
    require_llvm()
    return import_module(f"llvmlite.{module}")


def require_llvm() -> None:
    """Raises ModuleNotFoundError, which says what to install, where LLVM is not installed."""
    try:
        import_module("llvmlite")
    except ModuleNotFoundError as error:
        message = "the package llvmlite is not installed, and LLVM makes the machine code; install it with: "
        raise ModuleNotFoundError(
            f"{message}pip install '.[native]' in the checkout of executorch-ir", name="llvmlite"
        ) from error
