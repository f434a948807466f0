"""Sides of a comparison: a compiled program, a recorded execution, a text of any level, or a module of torch."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from et_tools.comparison.recording import (
    InstructionSource,
    Recorder,
    recorded_values,
    sources_of,
    sources_of_map,
)
from et_tools.exit_codes import UsageError
from et_tools.level_runs import LevelRunner, ModuleRun, method_names, method_signature
from et_tools.vm_backends import chosen_backends, chosen_native
from et_tools.vm_files import open_data, open_program
from et_tools.vm_inputs import MethodSignature
from et_tools.vm_kernels import chosen_kernels
from et_vm.devtools.debug_map import read_debug_map

if TYPE_CHECKING:
    from torch.export import ExportedProgram
    from xdsl.dialects.builtin import ModuleOp

    from et_vm.program import Program

__all__ = ["Side", "is_factory", "open_side"]


class Side(Protocol):
    """A program that can be run on inputs."""

    file: str

    @property
    def method_names(self) -> Sequence[str]:
        """The methods."""
        ...

    def signature(self, method: str) -> MethodSignature | None:
        """The inputs of a method; None for an execution, which had its inputs."""
        ...

    def examples(self, method: str) -> list[Any] | None:
        """Example inputs, if it has any."""
        ...

    def run(self, method: str, inputs: Sequence[Any]) -> ModuleRun:
        """Run a method from initial state, and record what it computes."""
        ...


class _File:
    """A `.pte` file on et-vm, with its sources from a debug map, or the stack traces in it."""

    def __init__(self, file: str, args: argparse.Namespace, debug_map: str | None):
        self.file = file
        self._args = args
        self._map = debug_map
        self._program: Program = open_program(file)

    @property
    def method_names(self) -> Sequence[str]:
        return self._program.method_names

    def signature(self, method: str) -> MethodSignature | None:
        return self._program.method_meta(method)

    def examples(self, method: str) -> list[Any] | None:
        return None

    def run(self, method: str, inputs: Sequence[Any]) -> ModuleRun:
        recorder = Recorder(self._sources(method), self._program.plan(method).inputs)
        loaded = self._program.load_method(
            method,
            kernels=chosen_kernels(self._args, self._args.kernels),
            backends=chosen_backends(self._args),
            native=chosen_native(self._args),
            external=open_data(self._args),
            tracer=recorder,
        )
        given = [one.copy() if isinstance(one, np.ndarray) else one for one in inputs]
        outputs = loaded.execute(given)
        state = {name: array.copy() for name, array in loaded.state.items()}
        written = {index: given[index] for index in loaded.written_inputs}
        return ModuleRun(outputs, written, state, recorder.values)

    def _sources(self, method: str) -> dict[int, InstructionSource]:
        if self._map is not None:
            return sources_of_map(self._map, method)
        plan = self._program.plan(method)
        traced = any(trace.items for chain in plan.chains for trace in chain.stacktrace or ())
        if traced:
            from et_ir.emit import disassemble, origins

            return sources_of(origins(disassemble(self._program.pte))[method])
        from et_schema.diagnostics import Location

        instructions = self._program.instructions(self._program.plan_index(method))
        return {one.index: InstructionSource("", one.name, Location()) for one in instructions}


class _Recording:
    """An execution in an ETDump with its debug buffer, of whichever runtime, with its sources from a debug map."""

    def __init__(self, file: str, debug_buffer: str | None, debug_map: str | None):
        """Raises `UsageError` without a buffer or a map, and for a file without executions, and what reading raises."""
        from et_vm.devtools.inspector import Inspector

        if debug_buffer is None or debug_map is None:
            raise UsageError(
                f"{file} is an ETDump: comparing its values needs --debug-buffer and --debug-map"
            )
        self.file = file
        self._map = debug_map
        blocks = Inspector(file, debug_buffer_path=debug_buffer).event_blocks
        executed = [block for block in blocks if block.name == "Execute"]
        if not executed or not executed[0].run_output:
            raise UsageError(f"{file} has no execution with values: record it with a debug buffer")
        self._block = executed[0]

    @property
    def method_names(self) -> Sequence[str]:
        return list(read_debug_map(self._map))

    def signature(self, method: str) -> MethodSignature | None:
        return None

    def examples(self, method: str) -> list[Any] | None:
        return None

    def run(self, method: str, inputs: Sequence[Any]) -> ModuleRun:
        values = recorded_values(self._block.events, sources_of_map(self._map, method), inputs)
        return ModuleRun(list(self._block.run_output), values=values)


class _Module:
    """A module of any level by the reference evaluator, or at the executorch level by et-vm."""

    def __init__(self, file: str, module: ModuleOp, args: argparse.Namespace):
        self.file = file
        self._module = module
        self._runner = LevelRunner(
            chosen_kernels(args, args.kernels), chosen_backends(args), native=args.native
        )

    @property
    def method_names(self) -> Sequence[str]:
        return method_names(self._module)

    def signature(self, method: str) -> MethodSignature | None:
        return method_signature(self._module, method)

    def examples(self, method: str) -> list[Any] | None:
        return None

    def run(self, method: str, inputs: Sequence[Any]) -> ModuleRun:
        return self._runner.run(self._module, inputs, method, values=True)


class _Factory(_Module):
    """Modules of torch: outputs by torch itself, intermediate values by the evaluator on the exported graph."""

    def __init__(self, file: str, programs: dict[str, ExportedProgram], args: argparse.Namespace):
        from et_ir.frontend import import_program

        super().__init__(file, import_program(programs), args)
        self._programs = programs

    def examples(self, method: str) -> list[Any] | None:
        from et_tools.example_inputs import example_inputs

        return example_inputs(self._programs[method]) if self._programs[method].example_inputs else None

    def run(self, method: str, inputs: Sequence[Any]) -> ModuleRun:
        from et_tools.loading import run_program

        found = super().run(method, inputs)
        outputs = run_program(method, self._programs[method], inputs)
        return ModuleRun(outputs, found.overwritten, found.state, found.values)


def is_factory(spec: str) -> bool:
    """Whether a side is a module of torch: a `.pt2` or `file.py:factory`."""
    return spec.endswith(".pt2") or (":" in spec and not spec.endswith((".pte", ".bpte", ".mlir")))


def open_side(spec: str, args: argparse.Namespace, debug_map: str | None = None) -> Side:
    """A side by what the command line calls it: a `.pte` or `.bpte`, an ETDump (`.etdp`), a `.mlir`, a `.pt2`, or
    `file.py:factory`.

    Raises `UsageError`, and what reading or exporting raises.
    """
    if spec.endswith(".mlir"):
        from et_ir.passes.common.erase_quantized_types import erase_quantized_types
        from et_ir.verification import verify_module
        from et_tools.plugins import load_extensions
        from et_tools.reading import read_text_module, require_weights

        module = read_text_module(spec, None, load_extensions(args.load or [], "et-vm"))
        verify_module(module)
        erase_quantized_types(module)
        require_weights(module, spec)
        return _Module(spec, module, args)
    if spec.endswith((".etdp", ".etdump")):
        return _Recording(spec, args.debug_buffer, debug_map)
    if spec.endswith(".pt2"):
        from pathlib import Path

        from et_tools.loading import load_pt2

        return _Factory(spec, {"forward": load_pt2(Path(spec))}, args)
    if is_factory(spec):
        from et_tools.loading import export_factory

        programs, _ = export_factory(spec)
        return _Factory(spec, programs, args)
    if spec.endswith(".py"):
        from et_tools.loading import factories_of

        raise UsageError(factories_of(spec))
    return _File(spec, args, debug_map)
