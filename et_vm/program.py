"""A program: a verified file, and the methods that can be loaded from it."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from enum import IntEnum
from functools import partial
from typing import TYPE_CHECKING

from et_schema.diagnostics import did_you_mean
from et_schema.errors import Error, ExecutorchError, InvalidFile
from et_schema.html_table import html_table
from et_schema.pte import read_pte
from et_vm.load.data_files import DataFiles
from et_vm.load.instructions import Instruction
from et_vm.load.loader import BytesDataLoader, DataLoader, MmapDataLoader
from et_vm.meta import MethodMeta
from et_vm.platform import Platform
from et_vm.run.interpreter import MAX_INSTRUCTIONS
from et_vm.run.memory import MemoryManager
from et_vm.run.plan_facts import PlanFacts
from et_vm.verify.flow import Flow
from et_vm.verify.plan import Verifier, verified

if TYPE_CHECKING:
    from et_schema.program import ExecutionPlan
    from et_schema.pte import PteFile
    from et_vm.backend import BackendRegistry, NativeOptions
    from et_vm.kernels.registry import KernelRegistry
    from et_vm.run.method import Method
    from et_vm.tracer import EventTracer
    from et_vm.verify.liveness import ByteLiveness, Clash
    from et_vm.work import WorkMeter


class Verification(IntEnum):
    """The extent of the checks at load. What is left out is checked when a method is loaded;
    nothing is skipped.
    """

    Minimal = 0
    """The container: header, flatbuffer, segments, and every reference into them."""
    InternalConsistency = 1
    """Every value and instruction of every method as well."""
    Lifetimes = 2
    """Also that no instruction writes over arena bytes that are still needed. Nothing unsafe comes of that, but wrong
    results; and looking for it takes more time than the rest, more than in proportion for large methods.
    """


class Program:
    """A loaded file. Immutable, so threads may share it."""

    def __init__(
        self,
        loader: DataLoader,
        verification: Verification = Verification.InternalConsistency,
        *,
        platform: Platform | None = None,
    ) -> None:
        """Raises InvalidFile, with the table and the byte, for a file that does not pass `verification`."""
        if isinstance(loader, (str, os.PathLike, bytes, bytearray, memoryview)):
            shown = repr(str(loader)) if isinstance(loader, (str, os.PathLike)) else "data"
            raise TypeError(
                f"a loader is expected, not a {type(loader).__name__}; Program.load({shown}) makes one"
            )
        self.name = loader.name
        self._loader = loader
        self.file = loader.load_all()
        self.platform = platform or Platform()
        self.pte: PteFile = read_pte(self.file, columns=True)
        self._plans = {plan.name: index for index, plan in enumerate(self.pte.program.execution_plan)}
        self._facts: dict[int, PlanFacts] = {}
        self._lock = threading.Lock()
        self._verifier = Verifier(self.pte, self.file.nbytes)
        with verified(self.file):
            self._verifier.verify_program()
        if verification >= Verification.InternalConsistency:
            for index in range(len(self.pte.program.execution_plan)):
                self.flow(index)
        if verification >= Verification.Lifetimes:
            self._verify_lifetimes()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}: methods {', '.join(self.method_names)}>"

    def html(self) -> str:
        """A table of the methods, for notebooks."""
        heads = ("method", "inputs", "outputs", "instructions", "arena bytes")
        metas = [self.method_meta(name) for name in self.method_names]
        rows = [
            (
                meta.name(),
                f"{meta.num_inputs()}",
                f"{meta.num_outputs()}",
                f"{meta.num_instructions():,}",
                f"{sum(meta.memory_planned_buffer_sizes().values()):,}",
            )
            for meta in metas
        ]
        return html_table(heads, rows, f"{self.name}: {self.file.nbytes:,} bytes")

    def _repr_html_(self) -> str:
        return self.html()

    @classmethod
    def load(
        cls,
        data: str | os.PathLike[str] | bytes | bytearray | memoryview,
        verification: Verification = Verification.InternalConsistency,
        *,
        platform: Platform | None = None,
    ) -> Program:
        """From a path, which is mapped, or from bytes. Raises InvalidFile, or
        ExecutorchError(AccessFailed).
        """
        if isinstance(data, (bytes, bytearray, memoryview)):
            return cls(BytesDataLoader(data), verification, platform=platform)
        return cls(MmapDataLoader(data), verification, platform=platform)

    def check_unchanged(self) -> None:
        """Raise ExecutorchError(AccessFailed) if the file has been written to since it was loaded: what has been
        computed since then may be wrong.
        """
        if self._loader.has_changed:
            raise ExecutorchError(
                Error.AccessFailed,
                "the file has been written to since it was loaded",
                where=self.name,
                hint="load it again; et_vm.load.loader.FileDataLoader and 'et-vm run - < FILE' read a copy",
            )

    def _verify_lifetimes(self) -> None:
        from et_vm.run.validation import clash_error

        for index, plan in enumerate(self.pte.program.execution_plan):
            liveness = self._liveness(index)
            for clash in liveness.clashes():
                with verified(self.file):
                    where = f"execution_plan[{index}]"
                    raise clash_error(plan, where, self.flow(index).instructions, clash)

    @property
    def method_names(self) -> tuple[str, ...]:
        """Names of the methods in the order of the file."""
        return tuple(self._plans)

    def plan_index(self, name: str) -> int:
        """Index of a method's plan. Raises ExecutorchError(InvalidArgument) for an unknown name."""
        index = self._plans.get(name)
        if index is None:
            raise ExecutorchError(
                Error.InvalidArgument,
                f"no method named {name!r}",
                hint=f"the methods are {', '.join(self._plans)}{did_you_mean(name, self._plans)}",
            )
        return index

    def plan(self, name: str) -> ExecutionPlan:
        """The schema object of a method. Raises ExecutorchError(InvalidArgument) for an unknown name."""
        return self.pte.program.execution_plan[self.plan_index(name)]

    def instructions(self, index: int) -> Sequence[Instruction]:
        """The verified instructions of plan `index`. Raises InvalidFile when the plan is not valid."""
        return self.flow(index).instructions

    def flow(self, index: int) -> Flow:
        """The analysis of plan `index`, which is verified. Raises InvalidFile when the plan is not valid."""
        return self._plan_facts(index).flow

    def _plan_facts(self, index: int) -> PlanFacts:
        """What all methods of plan `index` share, which is verified. Raises InvalidFile when the plan is not valid."""
        known = self._facts.get(index)
        if known is None:
            with self._lock, verified(self.file):
                instructions = self._verifier.verify_plan(index)
                assert instructions is not None  # else it has raised
                plan = self.pte.program.execution_plan[index]
                where = f"execution_plan[{index}]"
                flow = Flow(plan, instructions, where)
                flow.check()
                known = PlanFacts(self.pte, plan, flow)
                known.check_chains(where)
                self._facts[index] = known
        return known

    def method_meta(self, name: str) -> MethodMeta:
        """Inputs, outputs and memory of a method. Raises ExecutorchError(InvalidArgument) for an unknown
        name.
        """
        return MethodMeta(self.plan(name), self.pte.input_names.get(name, ()))

    def new_memory(self, names: Sequence[str] | None = None, *, poison: bool = False) -> MemoryManager:
        """Fresh arenas that are large enough for each of the methods `names` (all by default).

        Zeroed, or filled with poison except for mutable buffers. Raises OutOfMemory when the system has not
        that much, InvalidFile when poison is asked for and a plan is not valid.
        """
        indices = [self.plan_index(name) for name in (self.method_names if names is None else names)]
        plans = [self.pte.program.execution_plan[index] for index in indices]
        for index, plan in zip(indices, plans, strict=True):
            if plan.non_const_buffer_sizes and min(plan.non_const_buffer_sizes) < 0:
                raise InvalidFile(
                    "negative arena size", where=f"execution_plan[{index}].non_const_buffer_sizes"
                )
        memory = MemoryManager.for_sizes([plan.non_const_buffer_sizes for plan in plans], self.platform)
        if poison:
            from et_vm.run.poison import poison_arenas

            poison_arenas(
                memory, [(plan, self._liveness(index)) for index, plan in zip(indices, plans, strict=True)]
            )
        return memory

    def clashes(self, name: str) -> list[Clash]:
        """Instructions of a method's plan that overwrite bytes of a live tensor: results would
        be wrong, though nothing about the file is malformed. Loading looks for this with Verification.Lifetimes only.

        Raises ExecutorchError(InvalidArgument) for an unknown name, InvalidFile when the plan is not valid.
        """
        return self.liveness(name).clashes()

    def liveness(self, name: str) -> ByteLiveness:
        """Live ranges of a method's arena bytes.

        Raises ExecutorchError(InvalidArgument) for an unknown name, InvalidFile when the plan is not valid.
        """
        return self._liveness(self.plan_index(name))

    def _liveness(self, index: int) -> ByteLiveness:
        from et_vm.verify.liveness import ByteLiveness, delegate_writes

        flow = self.flow(index)
        plan = self.pte.program.execution_plan[index]
        delegates = [delegate_writes(self.pte, delegate) for delegate in plan.delegates]
        return ByteLiveness(plan, flow.instructions, flow.rebound, delegates)

    def load_method(
        self,
        name: str,
        *,
        kernels: KernelRegistry | str = "portable",
        memory: MemoryManager | None = None,
        backends: BackendRegistry | None = None,
        tracer: EventTracer | None = None,
        poison: bool = False,
        external: Mapping[str, memoryview] | None = None,
        instruction_limit: int = MAX_INSTRUCTIONS,
        meter: WorkMeter | None = None,
        native: NativeOptions | None = None,
    ) -> Method:
        """A method in the arenas of `memory`, or in new ones.

        Arenas and state belong to the memory: methods that are loaded with the same one share both, and state that
        another method has written by then is not reset. `et_vm.runtime.Program` loads all its methods with one.

        `kernels` is a registry or the name of a library. `external` holds the data of tensors outside
        of the file, by name; data files must have what the program was compiled with (`DataFiles`). With
        `poison`, dead arena bytes are overwritten while the method runs. An
        execution traps after `instruction_limit` instructions, which ends endless loops. `meter` counts its work
        where it is a part of another execution. `native` says whether and how machine code in the file is run.

        Raises ExecutorchError(InvalidArgument) for an unknown name, ExecutorchError(AccessFailed) for a file that has
        been written to since it was loaded, and what `et_vm.run.method.Method` raises.
        """
        from et_vm.backend import BackendRegistry
        from et_vm.kernels.libraries import load_library
        from et_vm.run.method import Method

        index = self.plan_index(name)
        self.check_unchanged()
        another = partial(
            self.load_method,
            name,
            kernels=kernels,
            backends=backends,
            tracer=tracer,
            poison=poison,
            external=external,
            instruction_limit=instruction_limit,
            meter=meter,
            native=native,
        )
        if isinstance(external, DataFiles):
            external.check(self.pte)
        return Method(
            self.pte,
            index,
            self._plan_facts(index),
            self.file,
            kernels=load_library(kernels) if isinstance(kernels, str) else kernels,
            memory=self.new_memory((name,), poison=poison) if memory is None else memory,
            backends=BackendRegistry.standard() if backends is None else backends,
            platform=self.platform,
            tracer=tracer,
            poison=poison,
            external=external,
            instruction_limit=instruction_limit,
            meter=meter,
            native=native,
            another=another,
        )
