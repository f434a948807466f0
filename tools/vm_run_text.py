"""`et-vm run` of a text: the reference evaluator for the levels above executorch, et-vm's loop for that one."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from et_tools.exit_codes import UsageError
from et_tools.level_runs import LevelRunner, is_executorch, method_names, method_signature, program_of
from et_tools.plugins import load_extensions
from et_tools.reading import read_text_module, require_weights
from et_tools.vm_backends import chosen_backends
from et_tools.vm_kernels import chosen_kernels

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from et_vm.program import Program

__all__ = ["EvaluatedMethod", "TextProgram", "open_text"]

_OF_FILES = ("data", "poison", "memory_limit", "work_limit", "in_flight")
"""Options that say how et-vm's loop runs."""


class EvaluatedMethod:
    """A method that the reference evaluator runs, each time from initial state."""

    def __init__(self, module: ModuleOp, name: str, runner: LevelRunner):
        self._module, self._name, self._runner = module, name, runner
        self.written_inputs: tuple[int, ...] = ()

    def execute(self, inputs: list[Any]) -> list[Any]:
        """The outputs. Inputs that the method writes to are replaced in the list."""
        run = self._runner.run(self._module, inputs, self._name)
        for index, value in run.overwritten.items():
            inputs[index] = value
        self.written_inputs = tuple(run.overwritten)
        return run.outputs

    def memory_report(self) -> dict[str, int]:
        """Nothing: the evaluator's memory says nothing about the program."""
        return {}


class TextProgram:
    """A text above the executorch level, with what `et-vm run` asks of a program."""

    def __init__(self, module: ModuleOp, level: str):
        self._module = module
        self.level = level

    @property
    def method_names(self) -> tuple[str, ...]:
        """Names of the methods in the order of the text."""
        return tuple(method_names(self._module))

    def method_meta(self, name: str) -> Any:
        """The inputs of a method."""
        return method_signature(self._module, name)

    def load(self, name: str, args: argparse.Namespace) -> EvaluatedMethod:
        """A method. Raises `UsageError` for options that the evaluator has no use for."""
        for option in _OF_FILES:
            if getattr(args, option):
                raise UsageError(
                    f"--{option.replace('_', '-')} needs instructions, which a program at the {self.level} level does "
                    "not have"
                )
        runner = LevelRunner(
            chosen_kernels(args, args.kernels),
            chosen_backends(args),
            native=args.native,
            limit=args.instruction_limit,
        )
        return EvaluatedMethod(self._module, name, runner)


def open_text(args: argparse.Namespace) -> TextProgram | Program:
    """The program of a text: at the executorch level one of instructions, else one for the evaluator.

    Raises what parsing, verification and emission raise.
    """
    from et_ir.passes.common.erase_quantized_types import erase_quantized_types
    from et_ir.verification import verify_module
    from et_tools.compile_source import level_of

    extensions = load_extensions(args.load or [], "et-vm")
    module = read_text_module(args.file, args.weights, extensions)
    verify_module(module)
    erase_quantized_types(module)
    require_weights(module, args.file)
    return program_of(module) if is_executorch(module) else TextProgram(module, level_of(module))
