"""A loaded method: registers bound to memory, calls bound to kernels, and the loop that runs them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Never, cast

import numpy as np

from et_schema.call_errors import called_as, unknown_argument
from et_schema.diagnostics import did_you_mean
from et_schema.errors import Error, ExecutorchError, InputError
from et_vm.interchange import any_torch, to_torch
from et_vm.kernels.registry import Scratch
from et_vm.meta import MethodMeta
from et_vm.run.delegates import Delegates, first_arguments
from et_vm.run.inputs import check_inputs, set_input
from et_vm.run.interpreter import (
    MAX_INSTRUCTIONS,
    UNOBSERVED,
    StepFailure,
    choose_loop,
    raise_trap,
    step_once,
)
from et_vm.run.outputs import GivenOutputs
from et_vm.run.prepare import Preparation
from et_vm.run.register_file import RegisterFile
from et_vm.run.settling import settling_of
from et_vm.run.stopping import NEVER, Stops
from et_vm.run.written_inputs import WrittenInputs
from et_vm.state.buffers import State
from et_vm.values import Array, ListRegister, Tensor, array_bytes
from et_vm.verify.plan import verified
from et_vm.work import WorkMeter

if TYPE_CHECKING:
    from et_schema.program import ExecutionPlan
    from et_schema.pte import PteFile
    from et_vm.backend import BackendRegistry, NativeOptions, PartWork
    from et_vm.kernels.registry import KernelRegistry
    from et_vm.load.instructions import Instruction
    from et_vm.platform import Platform
    from et_vm.run.machine import Checkpoint, Machine
    from et_vm.run.memory import MemoryManager
    from et_vm.run.plan_facts import PlanFacts
    from et_vm.run.requests import Request
    from et_vm.run.stopping import Stop
    from et_vm.tracer import EventTracer
    from et_vm.verify.guard_checks import InputGuards


class Method:
    """One method of a program, ready to execute. Made by `et_vm.program.Program.load_method`.

    A method owns everything it changes (unless its MemoryManager is shared), so methods run in parallel;
    one method runs one execution at a time, and says InvalidState to another.
    """

    if not TYPE_CHECKING:  # for checkers, other attributes are errors

        def __getattr__(self, name: str) -> Never:
            """Say how the method is run, if that is looked for."""
            way = ": call it, method(x), or method.execute([x])" if name in ("run", "forward") else ""
            raise AttributeError(f"'Method' object has no attribute '{name}'{way}")

    @called_as("made by Runtime.get().load_program('model.pte').load_method('forward')")
    def __init__(
        self,
        pte: PteFile,
        index: int,
        facts: PlanFacts,
        file: memoryview,
        *,
        kernels: KernelRegistry,
        memory: MemoryManager,
        backends: BackendRegistry,
        platform: Platform,
        tracer: EventTracer | None = None,
        poison: bool = False,
        external: Mapping[str, memoryview] | None = None,
        instruction_limit: int = MAX_INSTRUCTIONS,
        meter: WorkMeter | None = None,
        native: NativeOptions | None = None,
        another: Callable[[], Method] | None = None,
    ) -> None:
        """Plan `index` of `pte`, which is verified and of which `facts` are known. `file` is what `pte` was read from.
        An execution traps after `instruction_limit` instructions, and when its work passes the limit of `platform`; one
        that is a part of another execution counts in the `meter` of that. `another` loads the method in new memory.

        Raises InvalidFile, MissingOperator, MissingBackend or OutOfMemory; and Trap when a method without
        jumps contains a call whose shapes or types its kernel rejects, or that passes a limit.
        """
        plan = self._plan = pte.program.execution_plan[index]
        where = f"execution_plan[{index}]"
        self._facts = facts
        self._another = another
        self._limit = instruction_limit
        self._stops: Stops | None = None
        self._platform = platform
        self._tracer = tracer
        self._lock = threading.Lock()
        self._position: int | None = None
        self._stepping_since: int | None = None
        instructions = self._instructions = facts.instructions
        flow = facts.flow
        self._scratch = Scratch(platform.allocate)
        self._own_meter = None
        if meter is None and platform.work_limit is not None:
            self._own_meter = meter = WorkMeter(platform.work_limit)
        self._memo: dict[object, object] = {}

        concurrent = None
        if meter is None and tracer is None and not poison and len(instructions) <= instruction_limit:
            concurrent = facts.chains if platform.threads > 1 else None
        # Steps of chains that run at the same time have working memory of their own.
        self._scratches = [] if concurrent is None else [Scratch(platform.allocate) for _ in concurrent.waits]

        # What is limited is counted call by call.
        shares = meter is None and platform.memory_limit is None and memory.is_disjoint and concurrent is None
        known = facts.prepared_with(kernels) if shares else None

        started = platform.ticks()
        with verified(file):
            built = RegisterFile(
                plan,
                where,
                pte,
                memory,
                platform,
                facts.owned,
                external or {},
                facts.blueprint,
            )
        registers = self._registers = built.registers
        self._buffers = built.buffers
        self._owned_bytes = built.owned_bytes
        started = self._loaded("registers", started)
        # Held here because they are destroyed together with the method.
        # Backends convert constants here.
        with np.errstate(all="ignore"):
            self._delegates = Delegates(
                plan,
                where,
                pte,
                backends,
                platform,
                tracer,
                kernels=kernels,
                poison=poison,
                external=external,
                arguments=first_arguments(instructions, registers) if plan.delegates else None,
                meter=meter,
                native=native,
            )
        started = self._loaded("delegates", started)
        preparation = Preparation(
            plan,
            instructions,
            registers,
            built.places,
            facts.blueprint,
            flow.rebound,
            self._delegates,
            self._scratch,
            self._memo,
            platform,
            meter,
            templates=shares,
            scratch_of=None
            if concurrent is None
            else lambda index: self._scratches[concurrent.chain_of(index)],
        )
        if known is None:
            with verified(file):
                prepared = preparation.link(flow, kernels)
        else:
            prepared = known
            preparation.use(prepared)
        self._guard = kernels.guard
        self._calculates = bool(prepared.kernels) or self._delegates.calculate
        """Whether steps need numpy to keep silent, and the guard of the kernels."""
        started = self._loaded("link", started)
        # Kernels convert scalars and pack constants here.
        with np.errstate(all="ignore"):
            self._steps = preparation.steps()
        if meter is not None:
            preparation.check_work(meter)
        # What moves, frees and prims change is put back before each execution, so that one that trapped
        # leaves no trace.
        self._changing = [(register, registers[register]) for register in sorted(flow.rebound)]
        self._freed = [
            (value, value.storage)
            for register in facts.freed
            if isinstance(value := registers[register], Tensor) and value.storage is not None
        ]
        self._memory = memory
        self._input_names = pte.input_names.get(plan.name, ())
        self._guards = _input_guards(pte, plan, registers)
        self._written = WrittenInputs(plan, instructions, registers, facts.written_inputs)
        self._writes_inputs = bool(self._written.positions)
        self._given = GivenOutputs(plan, registers)
        hooks = None
        if poison or tracer is not None:
            # Imported here because starting is part of the time that a run takes.
            from et_vm.run.observation import observe

            hooks = observe(
                pte,
                plan,
                instructions,
                registers,
                flow.rebound,
                memory,
                platform,
                tracer=tracer,
                poison=poison,
            )
        self._hooks = hooks or UNOBSERVED
        self._settling = None
        if not hooks and concurrent is None:
            self._settling = settling_of(
                plan,
                instructions,
                self._steps,
                registers,
                self._changing,
                instruction_limit,
                self._scratch,
                keeps=platform.memory_limit is None,
            )
        if concurrent is None:
            self._loop = choose_loop(instructions, self._steps, registers, hooks, instruction_limit)
        else:
            from et_vm.run.chains import ChainLoop

            self._loop = ChainLoop(
                concurrent,
                instructions,
                self._steps,
                registers,
                platform.threads,
                kernels.guard,
                instruction_limit,
            )
        if known is None and shares:
            facts.keep(kernels, prepared)
        self._loaded("prepare", started)
        self._report_allocations()

    # Loading

    def _loaded(self, phase: str, started: int) -> int:
        now = self._platform.ticks()
        if self._tracer is not None:
            self._tracer.on_load(self.name, phase, started, now)
        return now

    def _report_allocations(self) -> None:
        if self._tracer is not None:
            for label, nbytes in self.memory_report().items():
                self._tracer.on_allocate(self.name, label, nbytes)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.metadata.signature()}>"

    def _repr_html_(self) -> str:
        """A table of inputs, outputs, buffers and arenas, for notebooks."""
        return self.metadata.html()

    # Executing

    @property
    def name(self) -> str:
        """Name of the method."""
        return self._plan.name

    @property
    def metadata(self) -> MethodMeta:
        """Inputs, outputs and memory as the file states them."""
        return MethodMeta(self._plan, self._input_names)

    @property
    def written_inputs(self) -> tuple[int, ...]:
        """Positions of the inputs that the method writes to: the caller's tensors get new values."""
        return self._written.positions

    def execute(
        self, inputs: Sequence[object] = (), *, clone_outputs: bool = True, **unknown: Never
    ) -> list[Any]:
        """Set the inputs, run the method and return the outputs.

        Inputs are numpy arrays or torch tensors of the exact element type, and for scalars the values the
        method was exported with. Outputs are torch tensors if an input was one, numpy arrays otherwise,
        which for types that numpy lacks (bfloat16, float8) have the `ml_dtypes` type of the same name.
        They are copies unless `clone_outputs` is False: then they are views of the method's memory, valid
        until it executes again. Inputs that the method writes to have their new values afterwards.

        Raises InputError for inputs that do not fit, and for those that the method writes to if they cannot be
        written; Trap when an instruction fails,
        ExecutorchError(InvalidState) while the method is executing. The method can be executed again after
        any of them.
        """
        if unknown:
            raise self._unknown_argument("execute", unknown)
        return self._execute(inputs, clone_outputs, self._run)

    def execute_async(self, inputs: Sequence[object] = (), *, timeout: float | None = None) -> Request:
        """Have the method executed by another thread. Returns a `concurrent.futures.Future` of the outputs, which a
        coroutine can also await.

        Requests of a method, and of all that have the same memory, are executed one after the other as they were made;
        `et_vm.runtime.Runtime.executor` executes several at once. One that has not ended after `timeout` seconds ends
        with TimeoutError, and `cancel` ends one that is executing, too. `execute` must not be called meanwhile. The
        inputs must stay as they are until the request is done.

        What `execute` raises, the future does. Raises ExecutorchError(InvalidState) for a method that has outputs in
        memory of the caller (`set_output`).
        """
        # Imported here because starting is part of the time that a run takes.
        from et_vm.run.requests import line_of

        return line_of(self.memory).submit(self, inputs, timeout=timeout)

    @property
    def memory(self) -> MemoryManager:
        """The arenas of the method, with its state: methods that have the same must not execute at the same time."""
        return self._memory

    @property
    def serialized_by(self) -> tuple[str, ...]:
        """What keeps requests from executing at the same time, each in memory of its own: state that an execution
        leaves to the next, and a tracer. Empty if nothing does.
        """
        return (*self.kept_state, *(["a tracer"] if self._tracer is not None else []))

    @property
    def kept_state(self) -> tuple[str, ...]:
        """What an execution leaves to the next, in words: mutable buffers, other bytes, and state of delegates."""
        kept = self._facts.kept_state
        delegates = [f"state of the delegate {one}" for one in self._delegates.stateful()]
        return (*([] if kept is None else [f"state ({kept})"]), *delegates)

    @property
    def has_given_outputs(self) -> bool:
        """Whether `set_output` has given some output memory of the caller's."""
        return bool(self._given.targets)

    def another(self) -> Method:
        """The same method with arenas and state of its own; constants are shared.

        Raises ExecutorchError(NotSupported) if no `et_vm.program.Program` has loaded it, and what loading raises.
        """
        if self._another is None:
            raise ExecutorchError(
                Error.NotSupported, "the method was not loaded by Program.load_method", where=self.name
            )
        return self._another()

    def execute_stoppable(self, inputs: Sequence[object], stop: Stop) -> list[Any]:
        """As `execute`, in an execution that another thread can end by `stop`.

        Raises `et_vm.run.stopping.Stopped` then; the method can be executed again, and its state is what the
        instructions before have made of it.
        """
        return self._execute(inputs, True, partial(self._run_stoppable, stop))

    def _execute(self, inputs: Sequence[object], clone_outputs: bool, run: Callable[[], None]) -> list[Any]:
        if not self._lock.acquire(False):
            raise self._executing()
        try:
            if self._position is not None:
                raise self._begun()
            tracer = self._tracer
            started = 0 if tracer is None else self._platform.ticks()
            self._set_inputs(inputs)
            try:
                if self._calculates:
                    with np.errstate(all="ignore"), self._guard():
                        run()
                else:
                    run()
            except StepFailure as failure:
                raise_trap(failure.cause, self._instructions[failure.index])
            outputs = self._collect(clone_outputs, any_torch(inputs))
            if self._writes_inputs:
                self._written.write_back()
            if tracer is not None:
                tracer.on_execute(self.name, started, self._platform.ticks())
            return outputs
        finally:
            self._lock.release()

    def __call__(self, *inputs: object, **unknown: Never) -> list[Any]:
        """`execute` on the inputs, or on those in a single tuple or list: `method(x, y)`, `method((x, y))`."""
        if unknown:
            raise self._unknown_argument("__call__", unknown)
        if len(inputs) == 1 and isinstance(inputs[0], tuple | list):
            return self.execute(cast("Sequence[object]", inputs[0]))
        return self.execute(inputs)

    def _unknown_argument(self, function: str, unknown: Mapping[str, object]) -> TypeError:
        """The error of inputs by name, as of the module that was exported: the order is theirs in the method."""
        name = next(iter(unknown))
        message = unknown_argument(f"Method.{function}()", name)
        if function == "execute" and (near := did_you_mean(name, ("inputs", "clone_outputs"))):
            return TypeError(f"{message}{near}")
        names = [name] if len(unknown) == len(self._plan.inputs) == 1 else ["…"]
        given = ", ".join(each or "…" for each in self._input_names or names)
        takes = f"execute([{given}])" if function == "execute" else f"method({given})"
        return TypeError(
            f"{message}; inputs are given in order, not by name: {takes} for {self.metadata.signature()}"
        )

    def _run(self) -> None:
        if self._own_meter is not None:
            self._own_meter.reset()
        settling = self._settling
        if settling is None:
            self._loop()
        elif settling.loop is not None:
            settling.loop()
        else:
            settling.run(self._loop, self._steps)

    def _run_stoppable(self, stop: Stop) -> None:
        if self._stops is None:
            self._stops = Stops()
            hooks = None if self._hooks is UNOBSERVED else self._hooks
            self._loop = choose_loop(
                self._instructions, self._steps, self._registers, hooks, self._limit, self._stops
            )
            if self._settling is not None:
                self._settling.make_stoppable(self._stops)
        self._stops.current = stop
        try:
            self._run()
        finally:
            self._stops.current = NEVER

    def set_inputs(self, inputs: Sequence[object]) -> None:
        """Set all inputs for `step`. Raises InputError, or ExecutorchError(InvalidState) in the
        middle of an execution.
        """
        with self._exclusive(at_start=True):
            self._set_inputs(inputs)

    @called_as("called as method.set_input(0, x)")
    def set_input(self, index: int, value: object) -> None:
        """Set one input for `step`. Raises like `set_inputs`."""
        with self._exclusive(at_start=True):
            if not 0 <= index < len(self._plan.inputs):
                raise InputError(
                    f"no input {index}: the method has {len(self._plan.inputs)}", where=self.name
                )
            self._begin()
            self._set_input(index, value)

    def set_output(self, index: int, value: object) -> None:
        """Give an output memory of the caller's, a numpy array or torch tensor: `execute` copies the result there
        and returns it, in this and all further executions; None ends that.

        Raises InputError for memory that does not fit, ExecutorchError(InvalidState) while the method is executing.
        """
        with self._exclusive(at_start=True):
            self._given.set(index, value)

    def step(self) -> Error:
        """Run one instruction: Ok, or EndOfMethod (with nothing run) when there are no more.

        After EndOfMethod the outputs can be read, and inputs that the method writes to have their new values;
        `reset_execution` starts over. Raises Trap, which starts over as well. A tracer is told of each
        instruction, and of the execution at its end.
        """
        with self._exclusive(at_start=False):
            if self._position is None:
                if self._guards is not None:
                    self._guards.check_together()
                self._begin()
                if self._own_meter is not None:
                    self._own_meter.reset()
                self._position, self._stepping_since = 0, self._platform.ticks()
            at = self._position
            if at >= len(self._instructions):
                self._written.write_back()
                self._end_of_steps()
                return Error.EndOfMethod
            # Whatever is raised starts over.
            self._position = None
            try:
                with np.errstate(all="ignore"), self._guard():
                    self._position = step_once(
                        self._instructions[at], self._steps[at], self._registers, *self._hooks
                    )
            except StepFailure as failure:
                raise_trap(failure.cause, self._instructions[failure.index])
            return Error.Ok

    def _end_of_steps(self) -> None:
        if self._tracer is not None and self._stepping_since is not None:
            started, self._stepping_since = self._stepping_since, None
            self._tracer.on_execute(self.name, started, self._platform.ticks())

    def reset_execution(self) -> None:
        """Forget how far `step` has come, so that inputs can be set and the method be run again."""
        with self._exclusive(at_start=False):
            self._position = None

    # Debugging

    @property
    def instructions(self) -> Sequence[Instruction]:
        """The instructions that `step` runs, by index."""
        return self._instructions

    @property
    def position(self) -> int | None:
        """Index of the instruction that `step` runs next, their number at the end; None if no execution has begun."""
        return self._position

    @cached_property
    def machine(self) -> Machine:
        """Registers and memory, to look at and to change between the steps of an execution."""
        # Imported here because starting is part of the time that a run takes.
        from et_vm.run.machine import Machine

        sizes = self._plan.non_const_buffer_sizes
        arenas = {
            memory_id: self._memory.bank(memory_id, size) for memory_id, size in enumerate(sizes) if memory_id
        }
        others = [*(value for _, value in self._changing), *(tensor for tensor, _ in self._freed)]
        return Machine(
            self._plan, self._registers, arenas, others, {register for register, _ in self._changing}
        )

    def checkpoint(self) -> Checkpoint:
        """A copy of registers and writable memory, for `restore`; between the steps of an execution, or before the
        first if all inputs are set.
        """
        with self._exclusive(at_start=False):
            work = 0 if self._own_meter is None else self._own_meter.spent
            return self.machine.capture(self._position or 0, work)

    def restore(self, checkpoint: Checkpoint) -> None:
        """Go on from where `checkpoint`, of this method, was made: the next `step` runs the instruction that it did
        then.
        """
        with self._exclusive(at_start=False):
            self.machine.restore(checkpoint)
            self._position = checkpoint.position
            if self._settling is not None:
                self._settling.forget()
            if self._own_meter is not None:
                self._own_meter.spent = checkpoint.work

    def get_output(self, index: int) -> Any:
        """A copy of one output as the last execution left it; for tensors a numpy array, as `execute`
        returns to a caller without torch.

        Raises ExecutorchError(InvalidArgument) when there is no such output.
        """
        if not 0 <= index < len(self._plan.outputs):
            raise ExecutorchError(
                Error.InvalidArgument,
                f"no output {index}: the method has {len(self._plan.outputs)}",
                where=self.name,
            )
        return self._output(self._registers[self._plan.outputs[index]], True, False)

    def get_outputs(self, *, clone_outputs: bool = True) -> list[Any]:
        """All outputs as the last execution left them, as `execute` returns them to a caller without torch:
        after `step` has come to the end.
        """
        return [
            self._output(self._registers[register], clone_outputs, False) for register in self._plan.outputs
        ]

    def get_attribute(self, name: str) -> Array:
        """The memory of a mutable buffer, such as `cache.keys`: what is written there is the state of the next
        execution.

        Raises ExecutorchError(InvalidArgument) when there is no such buffer.
        """
        register = self.metadata.attribute_register(name)
        value = self._registers[register]
        assert isinstance(value, Tensor)  # a buffer is never assigned another value
        return value.array

    @property
    def state(self) -> State:
        """The mutable buffers by name: to read and set, to reset to initial values, to save and load."""
        return State(self.name, self._buffers, lambda: self._exclusive(at_start=True))

    def delegate_work(self, instruction: int) -> Sequence[PartWork]:
        """The work of the parts of the delegate that an instruction calls, in the shapes of the last call; empty for
        other instructions, and where the backend does not know.
        """
        called = self._instructions[instruction]
        return self._delegates.work_report(called.callee) if called.opcode.mnemonic == "delegate" else ()

    def memory_report(self) -> dict[str, int]:
        """Bytes by what they are for: each arena, inputs and outputs nobody planned, scratch, data derived
        from constants. Of delegates: their blobs, which lie in the file, and what backends say that they hold.
        """
        report = {
            f"arena {memory_id}": size
            for memory_id, size in enumerate(self._plan.non_const_buffer_sizes)
            if memory_id
        }
        report["unplanned inputs and outputs"] = self._owned_bytes
        report["scratch"] = sum(scratch.nbytes for scratch in (self._scratch, *self._scratches))
        report["derived constants"] = sum(map(array_bytes, self._memo.values()))
        if self._plan.delegates:
            report |= self._delegates.memory_report()
        return report

    @contextmanager
    def _exclusive(self, *, at_start: bool) -> Generator[None]:
        """Keep other threads out, and with `at_start` require that no `step` has been made.

        `execute` does the same itself: it has no time for a generator.
        """
        if not self._lock.acquire(blocking=False):
            raise self._executing()
        try:
            if at_start and self._position is not None:
                raise self._begun()
            yield
        finally:
            self._lock.release()

    def _executing(self) -> ExecutorchError:
        return ExecutorchError(Error.InvalidState, "the method is executing", where=self.name)

    def _begun(self) -> ExecutorchError:
        return ExecutorchError(
            Error.InvalidState,
            "the method is in the middle of an execution",
            where=self.name,
            hint="step() it to the end, then call reset_execution()",
        )

    def _begin(self) -> None:
        """Put back what the last execution changed, which may be the tensors that inputs are copied into."""
        if self._settling is not None:
            self._settling.forget()
        for register, value in self._changing:
            self._registers[register] = value
        for tensor, storage in self._freed:
            if tensor.storage is None:
                tensor.bind(storage)

    def _set_inputs(self, values: Sequence[object]) -> None:
        if not isinstance(values, list | tuple):
            check_inputs(values)
        if len(values) != len(self._plan.inputs):
            wanted = len(self._plan.inputs)
            raise InputError(
                f"the method takes {wanted} input{'s' * (wanted != 1)}, got {len(values)}", where=self.name
            )
        settling = self._settling
        unchanged = settling is not None and settling.loop is not None
        if not unchanged and (self._changing or self._freed):
            self._begin()
        if self._writes_inputs:
            self._written.forget()
        for index, value in enumerate(values):
            self._set_input(index, value)
        if self._guards is not None:
            self._guards.check_together()
        if settling is not None and not settling.is_settled() and unchanged:
            self._begin()

    def _set_input(self, index: int, value: object) -> None:
        set_input(self._plan, self._registers, index, value, self._guards)
        if self._writes_inputs:
            self._written.note(index, value)

    def _collect(self, clone: bool, torch: bool) -> list[Any]:
        given = self._given.fill() if self._given.targets else {}
        outputs: list[Any] = []
        for index, register in enumerate(self._plan.outputs):
            kept = index in given
            outputs.append(given[index] if kept else self._output(self._registers[register], clone, torch))
        return outputs

    def _output(self, value: object, clone: bool, torch: bool) -> Any:
        if isinstance(value, Tensor):
            array = value.array
            if clone or (torch and not array.flags.writeable):
                array = array.copy(order="K")
            return to_torch(array) if torch else array
        if isinstance(value, ListRegister):
            items = value.read(self._registers)
            if any(isinstance(item, (ListRegister, list)) for item in items):
                raise ExecutorchError(Error.InvalidType, f"an output is a nested list: {value}")
            return [self._output(item, clone, torch) for item in items]
        return list(value) if isinstance(value, list) else value  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def _input_guards(pte: PteFile, plan: ExecutionPlan, registers: Sequence[object]) -> InputGuards | None:
    """The file's conditions on the sizes of inputs, if any."""
    if not pte.program.named_data:
        return None
    # Imported here because starting is part of the time that a run takes.
    from et_vm.verify.guard_checks import InputGuards, guards_of

    guards = guards_of(pte, plan)
    return None if guards is None else InputGuards(guards, [registers[index] for index in plan.inputs])
