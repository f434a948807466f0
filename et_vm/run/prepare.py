"""Preparing: the step of each instruction, with everything bound that can be bound before execution.

A kernel call whose arguments never change is prepared here, once for all that are alike; another when it is executed,
and again whenever its arguments are not what they were. A view that never changes is made here, and needs no step.
What has been found out for one method of a plan (`PreparedPlan`) is bound to the memory of each further one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from et_schema.errors import Error, ExecutorchError, Trap
from et_schema.program import TensorShapeDynamism
from et_vm.kernels.prims import alias, kind_of, view_sizes
from et_vm.kernels.registry import PrepareContext, parameters_of
from et_vm.load.instructions import call_outputs, written_registers
from et_vm.run.alike import CallKey, CallKinds, Place
from et_vm.run.calls import DynamicCall, LinkedCall, is_volatile
from et_vm.run.interpreter import raise_trap, trap_of
from et_vm.run.link import kernel_calls, link
from et_vm.run.templates import StepTemplate, template_of
from et_vm.step import NOTHING
from et_vm.values import ListRegister, Tensor

if TYPE_CHECKING:
    from collections.abc import Set

    from et_schema.program import ExecutionPlan
    from et_vm.kernels.registry import KernelRegistry, Param, Prepare, Scratch
    from et_vm.load.instructions import Instruction
    from et_vm.platform import Platform
    from et_vm.run.delegates import Delegates
    from et_vm.step import Step
    from et_vm.verify.flow import Flow
    from et_vm.work import WorkMeter

__all__ = ["Preparation", "PreparedCall", "PreparedPlan"]

_NO_SCRATCH = np.empty(0, np.uint8)


class PreparedCall(NamedTuple):
    """A kernel call: its kernel, and where its arguments never change, the template of its step and the registers of
    the tensors that this is bound to.
    """

    kernel: Prepare
    template: StepTemplate | None = None
    tensors: tuple[int, ...] = ()


class PreparedPlan:
    """What preparing a plan has found out, for all methods that are loaded from it with the same kernels.

    `calls` are its kernel calls by instruction, `views` the sizes of the views that need no step, `prepared` counts the
    calls that were prepared for a template.
    """

    def __init__(self) -> None:
        self.calls: dict[int, PreparedCall] = {}
        self.views: dict[int, tuple[int, ...]] = {}
        self.prepared = 0

    @property
    def scratch(self) -> int:
        """Bytes of working memory that the templates need."""
        used = (call.template.scratch for call in self.calls.values() if call.template is not None)
        return max(used, default=0)


class Preparation:
    """Prepares the instructions of one plan.

    `places` says where the tensors of `registers` have their bytes, `rebound` are the registers that come to hold
    something else while the method runs, `scratch` and `memo` are what the calls share. With `templates`, calls that
    are alike are prepared once.
    """

    def __init__(
        self,
        plan: ExecutionPlan,
        instructions: Sequence[Instruction],
        registers: list[object],
        places: Sequence[Place | None],
        rebound: Set[int],
        delegates: Delegates,
        scratch: Scratch,
        memo: dict[object, object],
        platform: Platform,
        meter: WorkMeter | None = None,
        *,
        templates: bool = True,
    ) -> None:
        self._plan = plan
        self._instructions = instructions
        self._registers = registers
        self._places = list(places)
        # Views that are made at load leave this set, so that the calls on them are prepared once.
        self._rebound = set(rebound)
        self._delegates = delegates
        self._scratch = scratch
        self._memo = memo
        self._platform = platform
        self._meter = meter
        self._has_jumps = any(instruction.target >= 0 for instruction in instructions)
        self._templates = templates
        self._keys: dict[int, CallKey] = {}
        self._parameters: dict[Prepare, Sequence[Param] | None] = {}
        self._linked: dict[int, LinkedCall] = {}
        """The calls that are prepared by themselves."""
        self._prepared = PreparedPlan()

    def use(self, prepared: PreparedPlan) -> None:
        """Take over what another method of the plan has found out, instead of `link`."""
        self._prepared = prepared
        for index, sizes in prepared.views.items():
            self._dissolve(self._instructions[index], sizes)

    def link(self, flow: Flow, kernels: KernelRegistry) -> PreparedPlan:
        """The kernels of all calls, once they are checked. Raises what `et_vm.run.link.link` does."""
        prepared = self._prepared
        self._dissolve_views()
        calls = kernel_calls(self._instructions)
        first: dict[CallKey, Instruction] = {}
        different: list[Instruction] = calls
        tensors: dict[int, tuple[int, ...]] = {}
        if self._templates:
            kinds = CallKinds(self._registers, self._places, self._rebound)
            different = []
            for call in calls:
                tensors[call.index] = named = kinds.tensors(call)
                key = kinds.key(call, named)
                if key is not None:
                    self._keys[call.index] = key
                if key is None or first.setdefault(key, call) is call:
                    different.append(call)
        found = link(self._plan, different, flow, kernels, self._platform)
        for call in calls:
            kernel = found.get(call.index)
            if kernel is None:
                kernel = found[first[self._keys[call.index]].index]
            prepared.calls[call.index] = PreparedCall(kernel, None, tensors.get(call.index, ()))
        return prepared

    def steps(self) -> list[Step]:
        """A step for each instruction; NOTHING for jumps, which the loops take themselves.

        Raises Trap, in a method without jumps, for a call whose shapes or types its kernel rejects.
        """
        self._make_templates()
        calls, views = self._prepared.calls, self._prepared.views
        steps: list[Step] = []
        # Static calls with their scratch generation, for those that have to be prepared again.
        scratched: list[tuple[int, LinkedCall, int]] = []
        # Those that have a template are bound to scratch when all of it is there.
        waiting: list[tuple[int, PreparedCall]] = []
        for instruction in self._instructions:
            index = instruction.index
            call = calls.get(index)
            if call is None:
                steps.append(NOTHING if index in views else self._step(instruction))
                continue
            template = call.template
            if template is not None:
                if template.derived:
                    self._memo.update(template.derived)
                if template.scratch:
                    waiting.append((index, call))
                    steps.append(NOTHING)
                else:
                    steps.append(template.bind(self._tensors(call), _NO_SCRATCH))
                continue
            linked = self._link(instruction, call.kernel)
            if self._is_volatile(linked):
                steps.append((DynamicCall(linked).run, ()))
                continue
            steps.append(self._prepare_static(linked))
            if self._scratch.used:
                scratched.append((index, linked, self._scratch.generation))
        buffer = self._scratch.reserve(self._prepared.scratch)
        for index, call in waiting:
            assert call.template is not None
            steps[index] = call.template.bind(self._tensors(call), buffer)
        for index, linked, generation in scratched:
            if generation != self._scratch.generation:
                steps[index] = self._prepare_static(linked)
        return steps

    def _make_templates(self) -> None:
        """Prepare one of the calls that are alike, for each kind of which there is no template yet."""
        calls, registers = self._prepared.calls, self._registers
        found: dict[object, StepTemplate | None] = {}
        depending: set[CallKey] = set()
        for index, key in self._keys.items():
            call = calls[index]
            constants = [at for at in call.tensors if cast("Tensor", registers[at]).is_constant]
            own = (key, *constants)
            kind = own if key in depending else key
            if kind not in found:
                tensors = self._tensors(call)
                template = self._template(self._instructions[index], call.kernel, tensors)
                if any(tensor.constant_asked for tensor in tensors if tensor.is_constant):
                    # The kernel may have looked at the data.
                    depending.add(key)
                    kind = own
                found[kind] = template
            if found[kind] is not None:
                calls[index] = call._replace(template=found[kind])

    def _tensors(self, call: PreparedCall) -> Sequence[Tensor]:
        registers = self._registers
        return cast("list[Tensor]", [registers[at] for at in call.tensors])

    def _template(
        self, instruction: Instruction, kernel: Prepare, tensors: Sequence[Tensor]
    ) -> StepTemplate | None:
        linked = self._link(instruction, kernel)
        if not linked.is_ours:
            return None  # The user's may make a step for one time only.
        for tensor in tensors:
            tensor.constant_asked = False
        scratch = self._scratch
        try:
            generation = scratch.generation
            step = linked.prepare_now()
            if generation != scratch.generation:
                # Now all of it is in one buffer.
                step = linked.prepare_now()
        except Exception as error:
            if not self._has_jumps:
                raise_trap(error, instruction)
            return None
        self._prepared.prepared += 1
        return template_of(step, tensors, scratch, linked.context.derived)

    def _link(self, instruction: Instruction, kernel: Prepare) -> LinkedCall:
        """A call that is prepared by itself."""
        known = self._linked.get(instruction.index)
        if known is not None:
            return known
        if kernel not in self._parameters:
            self._parameters[kernel] = parameters_of(kernel)
        context = PrepareContext(
            instruction.name,
            instruction=instruction.position,
            frames=instruction.frames,
            scratch=self._scratch,
            memo=self._memo,
            memo_key=instruction.index,
            platform=self._platform,
            meter=self._meter,
        )
        outputs = call_outputs(instruction, self._plan)
        linked = LinkedCall(instruction, kernel, self._parameters[kernel], self._registers, context, outputs)
        self._linked[instruction.index] = linked
        return linked

    def _is_volatile(self, call: LinkedCall) -> bool:
        return any(is_volatile(register, self._registers, self._rebound) for register in call.schema_args)

    def _dissolve_views(self) -> None:
        """Make the views that never change."""
        views = [one for one in self._instructions if one.prim is not None and one.is_view]
        writers = self._count_writers() if views else {}
        for view in views:
            sizes = self._view_sizes(view, writers)
            if sizes is not None and self._dissolve(view, sizes):
                self._prepared.views[view.index] = sizes

    def check_work(self, meter: WorkMeter) -> None:
        """Raise Trap for the call with which the work of a method without jumps passes the limit, as far as it is known
        before sizes are.
        """
        if self._has_jumps:
            return
        spent = 0
        for instruction in self._instructions:
            call = self._linked.get(instruction.index)
            if call is None:
                continue
            left = meter.limit - spent
            if call.work > left:
                error = meter.error(call.work, left)
                raise_trap(error, instruction)
            spent += call.work

    def _step(self, instruction: Instruction) -> Step:
        """The step of anything but a kernel call."""
        if instruction.prim is not None:
            return instruction.prim.make(self._registers, *instruction.args)
        mnemonic = instruction.opcode.mnemonic
        if mnemonic == "delegate":
            return self._delegates.step(instruction, self._registers, self._rebound)
        if mnemonic == "move":
            return _move, (self._registers, *instruction.args)
        if mnemonic == "free":
            return _free, (self._registers, *instruction.args)
        return NOTHING

    def _prepare_static(self, call: LinkedCall) -> Step:
        try:
            return call.prepare_now()
        except Exception as error:
            if not self._has_jumps:
                raise_trap(error, call.instruction)
            # The call may never be reached; it traps when it is.
            return _raise, (trap_of(error, call.instruction),)

    def _count_writers(self) -> dict[int, int]:
        """The number of instructions that write each register, by value or by bytes, or take its bytes away."""
        writers: dict[int, int] = {}
        for instruction in self._instructions:
            freed = instruction.opcode.mnemonic == "free"
            for register in set(instruction.args if freed else written_registers(instruction, self._plan)):
                writers[register] = writers.get(register, 0) + 1
        return writers

    def _view_sizes(self, instruction: Instruction, writers: Mapping[int, int]) -> tuple[int, ...] | None:
        """The sizes of a view whose source, shape and target never change, so that it can be made when the method is
        loaded instead of in each execution; None for another.
        """
        source, size, out = instruction.args
        if writers.get(out) != 1 or out in self._plan.inputs:
            return None
        if any(is_volatile(register, self._registers, self._rebound) for register in (source, size)):
            return None
        target = self._registers[out]
        tensor = self._registers[source]
        shape = self._registers[size]
        if (
            not isinstance(target, Tensor)
            or not isinstance(tensor, Tensor)
            or not isinstance(shape, ListRegister)
        ):
            return None
        if target.dynamism != TensorShapeDynamism.STATIC or not tensor.has_data:
            return None
        try:
            return view_sizes(tensor, shape.read(self._registers))
        except ExecutorchError:
            # Left to the step, which traps with its place.
            return None

    def _dissolve(self, instruction: Instruction, sizes: tuple[int, ...]) -> bool:
        """Make a view for good; returns whether that was possible."""
        source, _, out = instruction.args
        try:
            alias(cast("Tensor", self._registers[source]), cast("Tensor", self._registers[out]), sizes)
        except ExecutorchError:
            return False
        self._places[out] = self._places[source]
        self._rebound.discard(out)
        return True


def _move(registers: list[object], source: int, target: int) -> None:
    registers[target] = registers[source]


def _free(registers: list[object], register: int) -> None:
    value = registers[register]
    if not isinstance(value, Tensor):
        raise ExecutorchError(Error.InvalidType, f"free of a {kind_of(value)}, not a Tensor")
    value.unbind()


def _raise(trap: Trap) -> None:
    raise trap.with_traceback(None)
