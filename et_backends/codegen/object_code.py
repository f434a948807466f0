"""Object code of a module of xDSL's `llvm` dialect, by LLVM.

LLVM gets code whose loops are tiled and whose vectors are those of the machine, so few of its passes run: those that
clean up, none that vectorize or recognize idioms. The strength of induction variables is reduced by its code generator.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from et_backends.codegen.instruction_sets import INSTRUCTION_SETS, InstructionSet
from et_backends.codegen.llvm_assembly import llvm_assembly

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
    text = files("et_backends.codegen.kernels").joinpath("threads.ll").read_text("utf-8")
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
