"""The loops. Each method uses one of three, which `choose_loop` chooses when it is loaded.

* `run_straight`: no jumps. A walk over prepared steps, nothing else.
* `run_blocks`: jumps. The same walk within each basic block; conditions and the instruction limit
  between blocks.
* `run_observed`: tracing or poison. One instruction at a time, with hooks around it.

The first two have a form that another thread can stop, with `run_stoppable` in the place of `run_straight`.

A failing step leaves as `StepFailure` with the index of its instruction, which costs the loops
nothing while steps succeed: the position is read off the iterator afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from operator import length_hint
from typing import TYPE_CHECKING, NamedTuple, NoReturn, TypeAlias

from et_schema.errors import Error, ExecutorchError, Trap
from et_schema.scalar_type import ScalarType
from et_schema.user_code import raised
from et_schema.wording import worded
from et_vm.kernels.prims import kind_of
from et_vm.load.code import unusual
from et_vm.run.stopping import Stopped
from et_vm.step import NOTHING, Step
from et_vm.values import Tensor

if TYPE_CHECKING:
    from et_vm.load.instructions import Instruction
    from et_vm.run.stopping import Stops

MAX_INSTRUCTIONS = 10_000_000

Hook: TypeAlias = "Callable[[Instruction], None]"
Hooks: TypeAlias = tuple[Hook, Hook]
"""Callbacks before and after each instruction."""


def _unobserved(instruction: Instruction) -> None:
    pass


UNOBSERVED: Hooks = (_unobserved, _unobserved)


class StepFailure(Exception):
    """The step of instruction `index` raised `cause`."""

    def __init__(self, index: int, cause: BaseException) -> None:
        super().__init__(index, cause)
        self.index = index
        self.cause = cause


class Block(NamedTuple):
    """A basic block: steps without jumps, then perhaps a conditional jump.

    `indices` are the instructions of `steps`; `weight` how many instructions the block counts as,
    steps that were dissolved at load time included. `condition` is the register of the jump, -1 when
    there is none. `taken` and `after` are the blocks to continue with, one past the last to stop.
    """

    steps: list[Step]
    indices: list[int]
    weight: int
    last: int
    condition: int
    taken: int
    after: int


def choose_loop(
    instructions: Sequence[Instruction],
    steps: Sequence[Step],
    registers: list[object],
    hooks: Hooks | None,
    limit: int = MAX_INSTRUCTIONS,
    stops: Stops | None = None,
) -> Callable[[], None]:
    """The loop for a method, with everything it needs; the observed one when there are `hooks`. It raises
    StepFailure, also when an execution takes more than `limit` instructions, and Stopped if `stops` says so.
    """
    straight = run_straight if stops is None else partial(run_stoppable, stops)
    if hooks is not None:
        before, after = hooks if stops is None else stoppable_hooks(hooks, stops)
        return lambda: run_observed(instructions, steps, registers, before, after, limit)
    if len(instructions) > limit or any(instruction.target >= 0 for instruction in unusual(instructions)):
        blocks = basic_blocks(instructions, steps)
        return lambda: run_blocks(blocks, registers, limit, straight)
    live = [index for index, step in enumerate(steps) if step is not NOTHING]
    walk = [steps[index] for index in live]
    return partial(straight, walk, live)


def basic_blocks(
    instructions: Sequence[Instruction], steps: Sequence[Step], first: int = 0, final: int | None = None
) -> list[Block]:
    """Cut the instruction list, or a chain of it, from `first` to `final`, into basic blocks; block numbers replace
    instruction indices.
    """
    final = len(instructions) if final is None else final
    starts = {first, final}
    for instruction in unusual(instructions):
        if instruction.target >= 0 and first <= instruction.index < final:
            starts |= {instruction.target, instruction.index + 1}
    ordered = sorted(starts)
    number = {start: at for at, start in enumerate(ordered)}
    blocks: list[Block] = []
    for start, end in pairwise(ordered):
        last = instructions[end - 1]
        jump = last.target >= 0
        indices = [at for at in range(start, end - jump) if steps[at] is not NOTHING]
        blocks.append(
            Block(
                steps=[steps[at] for at in indices],
                indices=indices,
                weight=end - start,
                last=end - 1,
                condition=last.args[0] if jump else -1,
                taken=number[last.target] if jump else -1,
                after=number[end],
            )
        )
    return blocks


def run_straight(steps: list[Step], indices: Sequence[int]) -> None:
    """Run `steps`; `indices[i]` is the instruction of step `i`. Raises StepFailure."""
    remaining = iter(steps)
    try:
        for function, arguments in remaining:
            function(*arguments)
    except (Exception, SystemExit) as error:
        raise StepFailure(indices[len(steps) - length_hint(remaining) - 1], error) from error


def run_stoppable(stops: Stops, steps: list[Step], indices: Sequence[int]) -> None:
    """As `run_straight`. Raises Stopped before a step if `stops` says so, and before what follows the last."""
    stop = stops.current
    remaining = iter(steps)
    try:
        for function, arguments in remaining:
            if stop.is_requested:
                raise Stopped
            function(*arguments)
    except (Exception, SystemExit) as error:
        raise StepFailure(indices[len(steps) - length_hint(remaining) - 1], error) from error
    stops.check()


def stoppable_hooks(hooks: Hooks, stops: Stops) -> Hooks:
    """The hooks, before which the loop stops if `stops` says so."""
    before, after = hooks

    def checked(instruction: Instruction) -> None:
        stops.check()
        before(instruction)

    return checked, after


def run_blocks(
    blocks: list[Block],
    registers: list[object],
    limit: int = MAX_INSTRUCTIONS,
    straight: Callable[[list[Step], Sequence[int]], None] = run_straight,
) -> None:
    """Run from the first block until one leads past the last, the steps of each by `straight`. Raises StepFailure, also
    after `limit` instructions, and what `straight` raises.
    """
    at, end = 0, len(blocks)
    executed = 0
    while at < end:
        steps, indices, weight, last, condition, taken, after = blocks[at]
        executed += weight
        if executed > limit:
            raise StepFailure(last, limit_error(limit))
        if steps or straight is not run_straight:
            straight(steps, indices)
        if condition < 0:
            at = after
            continue
        try:
            at = after if is_true(registers[condition]) else taken
        except Exception as error:
            raise StepFailure(last, error) from error


def run_observed(
    instructions: Sequence[Instruction],
    steps: Sequence[Step],
    registers: list[object],
    before: Hook,
    after: Hook,
    limit: int = MAX_INSTRUCTIONS,
) -> None:
    """Run one instruction at a time, with `before` and `after` around it. Raises StepFailure, also after `limit`
    instructions, and what these raise.
    """
    at, end = 0, len(instructions)
    executed = 0
    while at < end:
        instruction = instructions[at]
        executed += 1
        if executed > limit:
            raise StepFailure(at, limit_error(limit))
        at = step_once(instruction, steps[at], registers, before, after)


def step_once(
    instruction: Instruction, step: Step, registers: list[object], before: Hook, after: Hook
) -> int:
    """Run one instruction, with `before` and `after` around it, and return the index of the next. Raises
    StepFailure, and what these raise.
    """
    before(instruction)
    following = instruction.index + 1
    try:
        if instruction.target < 0:
            step[0](*step[1])
        elif not is_true(registers[instruction.args[0]]):
            following = instruction.target
    except (Exception, SystemExit) as error:
        raise StepFailure(instruction.index, error) from error
    after(instruction)
    return following


def is_true(condition: object) -> bool:
    """Whether a Bool, or every element of a Bool tensor, is true. Raises ExecutorchError(InvalidType) for
    others.
    """
    if isinstance(condition, bool):
        return condition
    if isinstance(condition, Tensor) and condition.scalar_type == ScalarType.BOOL:
        return bool(condition.array.all())
    held = condition if isinstance(condition, Tensor) else kind_of(condition)
    raise ExecutorchError(Error.InvalidType, f"the condition is {held}, not a Bool or a Bool tensor")


def limit_error(limit: int) -> ExecutorchError:
    """The error for a method that runs too long."""
    return ExecutorchError(
        Error.InvalidProgram,
        f"more than {limit:,} instructions in one execution",
        hint="possibly an endless loop; if it is none, raise the limit: "
        + worded(python="load_program(…, instruction_limit=…)", command="--instruction-limit"),
    )


def raise_trap(error: BaseException, instruction: Instruction) -> NoReturn:
    """Raise the Trap of an error, whose cause it has: the error itself where that is a Trap with its instruction."""
    raise trap_of(error, instruction)


def trap_of(error: BaseException, instruction: Instruction) -> Trap:
    """The Trap that tells where `error` happened; a Trap that says so already is returned as it is."""
    if isinstance(error, Trap) and error.instruction is not None:
        return error
    if isinstance(error, ExecutorchError):
        code, message, where, hint = error.code, error.message, error.where, error.hint
    elif isinstance(error, MemoryError):
        code, message, where, hint = Error.MemoryAllocationFailed, str(error) or "out of memory", None, None
    else:
        code, message, where, hint = Error.Internal, f"{raised(error)}", None, None
    trap = Trap(
        message,
        code=code,
        instruction=instruction.position,
        operator=instruction.name,
        frames=instruction.frames,
        where=where,
        hint=hint,
    )
    trap.__cause__ = error
    return trap
