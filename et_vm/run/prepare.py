"""Preparing: the step of each instruction, with everything bound that can be bound before execution.

A kernel call whose arguments never change is prepared here, once for all that are alike; another when it is executed,
and again whenever its arguments are not what they were. A view that never changes is made here, and needs no step.
What has been found out for one method of a plan (`PreparedPlan`) is bound to the memory of each further one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

from et_schema.errors import Error, ExecutorchError, Trap
from et_schema.program import TensorShapeDynamism
from et_vm.kernels.prims import alias, kind_of, view_sizes
from et_vm.kernels.registry import PrepareContext, parameters_of
from et_vm.load.code import unusual
from et_vm.load.instructions import call_outputs, written_registers
from et_vm.run.alike import CallGroup, group_calls
from et_vm.run.calls import DynamicCall, LinkedCall, is_volatile
from et_vm.run.interpreter import raise_trap, trap_of
from et_vm.run.link import is_kernel_call, kernel_calls, link
from et_vm.run.templates import StepTemplate, template_of
from et_vm.step import NOTHING
from et_vm.values import ListRegister, Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Set

    from et_schema.program import ExecutionPlan
    from et_vm.kernels.registry import KernelRegistry, Param, Prepare, Scratch
    from et_vm.load.instructions import Instruction
    from et_vm.platform import Platform
    from et_vm.run.blueprint import Blueprint, Place
    from et_vm.run.delegates import Delegates
    from et_vm.step import Step
    from et_vm.verify.flow import Flow
    from et_vm.work import WorkMeter

__all__ = ["Preparation", "PreparedCalls", "PreparedPlan"]


class PreparedCalls(NamedTuple):
    """Calls that are alike, by instruction: the template of their step, and the registers of the tensors that this is
    bound to.
    """

    template: StepTemplate
    calls: Sequence[int]
    tensors: Sequence[Sequence[int]]


class PreparedPlan:
    """What preparing a plan has found out, for all methods that are loaded from it with the same kernels.

    `alike` are the calls that have a template, `single` the kernels of the others by instruction, `views` the sizes of
    views that need no step, `kernels` all kernels by operator.
    """

    def __init__(self) -> None:
        self.alike: list[PreparedCalls] = []
        self.single: dict[int, Prepare] = {}
        self.views: dict[int, tuple[int, ...]] = {}
        self.kernels: dict[str, Prepare] = {}

    @property
    def scratch(self) -> int:
        """Bytes of working memory that the templates need."""
        return max((calls.template.scratch for calls in self.alike), default=0)


class Preparation:
    """Prepares the instructions of one plan.

    `blueprint` and `places` say where the tensors of `registers` have their bytes, `rebound` are the registers that
    come to hold something else while the method runs, `scratch` and `memo` are what the calls share. With `templates`,
    calls that are alike are prepared once. `scratch_of` gives each instruction another scratch, without `templates`.
    """

    def __init__(
        self,
        plan: ExecutionPlan,
        instructions: Sequence[Instruction],
        registers: list[object],
        places: Mapping[int, Place],
        blueprint: Blueprint | None,
        rebound: Set[int],
        delegates: Delegates,
        scratch: Scratch,
        memo: dict[object, object],
        platform: Platform,
        meter: WorkMeter | None = None,
        *,
        templates: bool = True,
        scratch_of: Callable[[int], Scratch] | None = None,
    ) -> None:
        self._plan = plan
        self._instructions = instructions
        self._registers = registers
        self._places = dict(places)
        self._blueprint = blueprint
        # Views that are made at load leave this set, so that the calls on them are prepared once.
        self._rebound = set(rebound)
        self._delegates = delegates
        self._scratch = scratch
        self._own_scratch = scratch_of
        self._memo = memo
        self._platform = platform
        self._meter = meter
        self._has_jumps = any(instruction.target >= 0 for instruction in unusual(instructions))
        self._templates = templates
        self._groups: list[CallGroup] = []
        self._kernels: Mapping[int, Prepare] = {}
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
        prepared, instructions = self._prepared, self._instructions
        self._dissolve_views()
        if self._templates:
            groups, single = group_calls(
                instructions, self._registers, self._places, self._rebound, self._blueprint
            )
            # To take apart the step of a call that is like no other takes longer than a further method would save.
            self._groups = [group for group in groups if len(group.calls) > 1]
            single = [*single, *(instructions[group.calls[0]] for group in groups if len(group.calls) == 1)]
        else:
            single = kernel_calls(instructions)
        calls = [*single, *(instructions[group.calls[0]] for group in self._groups)]
        calls.sort(key=lambda call: call.index)
        self._kernels = link(self._plan, calls, flow, kernels, self._platform)
        prepared.single = {call.index: self._kernels[call.index] for call in single}
        prepared.kernels = {call.name: self._kernels[call.index] for call in calls}
        return prepared

    def steps(self) -> list[Step]:
        """A step for each instruction; NOTHING for jumps, which the loops take themselves.

        Raises Trap, in a method without jumps, for a call whose shapes or types its kernel rejects.
        """
        self._make_templates()
        prepared = self._prepared
        steps: list[Step] = [NOTHING] * len(self._instructions)
        # Static calls with their scratch generation, for those that have to be prepared again.
        scratched: list[tuple[int, LinkedCall, int]] = []
        for index, kernel in prepared.single.items():
            linked = self._link(self._instructions[index], kernel)
            if self._is_volatile(linked):
                steps[index] = DynamicCall(linked).run, ()
                continue
            steps[index] = self._prepare_static(linked)
            used = self._scratch_of(index)
            if used.used:
                scratched.append((index, linked, used.generation))
        for instruction in unusual(self._instructions):
            if not is_kernel_call(instruction) and instruction.index not in prepared.views:
                steps[instruction.index] = self._step(instruction)
        scratch = self._scratch.reserve(prepared.scratch)
        for template, calls, named in prepared.alike:
            self._memo.update(template.derived)
            template.bind_all(steps, calls, named, self._registers, scratch)
        for index, linked, generation in scratched:
            if generation != self._scratch_of(index).generation:
                steps[index] = self._prepare_static(linked)
        return steps

    def _make_templates(self) -> None:
        """Prepare one of the calls of each group."""
        prepared = self._prepared
        for group in self._groups:
            kernel = self._kernels[group.calls[0]]
            template, looked = self._template(group.calls[0], kernel, group.tensors[0])
            parts = [(template, group)]
            if looked:
                # The kernel may have seen the data of constants: it is asked again for others.
                first, *rest = self._by_constants(group)
                parts = [(template, first)]
                parts += [(self._template(one.calls[0], kernel, one.tensors[0])[0], one) for one in rest]
            for template, part in parts:
                if template is None:
                    prepared.single.update(dict.fromkeys(part.calls, kernel))
                else:
                    prepared.alike.append(PreparedCalls(template, part.calls, part.tensors))
        self._groups = []

    def _by_constants(self, group: CallGroup) -> list[CallGroup]:
        """The calls of a group by the constants that they are given; the first of them is in the first."""
        registers = cast("list[Tensor]", self._registers)
        found: dict[tuple[int, ...], CallGroup] = {}
        for call, tensors in zip(group.calls, group.tensors, strict=True):
            key = tuple([at for at in tensors if registers[at].is_constant])
            part = found.setdefault(key, CallGroup([], []))
            part.calls.append(call)
            part.tensors.append(tensors)
        return list(found.values())

    def _template(
        self, index: int, kernel: Prepare, named: Sequence[int]
    ) -> tuple[StepTemplate | None, bool]:
        """The template of the step of a call, None if it has none, and whether the kernel asked for constants."""
        instruction, scratch = self._instructions[index], self._scratch
        linked = self._link(instruction, kernel)
        if not linked.is_ours:
            return None, False  # The user's may make a step for one time only.
        tensors = cast("list[Tensor]", [self._registers[at] for at in named])
        for tensor in tensors:
            tensor.constant_asked = False
        try:
            generation = scratch.generation
            step = linked.prepare_now()
            if generation != scratch.generation:
                # Now all of it is in one buffer.
                step = linked.prepare_now()
        except Exception as error:
            if not self._has_jumps:
                raise_trap(error, instruction)
            return None, False
        looked = any(tensor.constant_asked for tensor in tensors if tensor.is_constant)
        return template_of(step, tensors, scratch, linked.context.derived), looked

    def _scratch_of(self, index: int) -> Scratch:
        return self._scratch if self._own_scratch is None else self._own_scratch(index)

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
            scratch=self._scratch_of(instruction.index),
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
        views = [one for one in unusual(self._instructions) if one.prim is not None and one.is_view]
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
        self._places[out] = self._place(source)
        self._rebound.discard(out)
        return True

    def _place(self, register: int) -> Place:
        known = self._places.get(register)
        if known is None:
            assert (
                self._blueprint is not None
            )  # it has all tensors with data that are in no place of their own
            known = self._blueprint.place(register)
        return known


def _move(registers: list[object], source: int, target: int) -> None:
    registers[target] = registers[source]


def _free(registers: list[object], register: int) -> None:
    value = registers[register]
    if not isinstance(value, Tensor):
        raise ExecutorchError(Error.InvalidType, f"free of a {kind_of(value)}, not a Tensor")
    value.unbind()


def _raise(trap: Trap) -> None:
    raise trap.with_traceback(None)
