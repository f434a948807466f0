"""Type and data-flow verification of registers.

It follows types and data through moves, jumps and frees to where registers are used.

A forward data-flow analysis over the instruction list. The state of a register is the set of things it may
hold, as bits: one for each value kind, with a tensor split in three: with data that may be written, with constant
data, and without data. States of paths that meet are united, so an error means that the use fails on *every* path to
it; what fails on some paths only is left to the check at run time.

Only registers that change are tracked: targets of moves, outputs of prims, freed tensors, and tensors that
start without data. Where there are so many of them, and so many jumps, that following them would take more than a fixed
amount of work for each register and instruction, they may hold anything at the start of each basic block.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence, Set
from functools import cache
from heapq import heappop, heappush, merge
from itertools import chain, pairwise

import numpy as np

from et_schema.errors import FIRST, Error, InvalidFile, Problems
from et_schema.program import (
    Bool,
    ExecutionPlan,
    IntList,
    OptionalTensorList,
    Tensor,
    TensorList,
    TensorShapeDynamism,
)
from et_schema.scalar_type import ScalarType
from et_vm.kernels.prims import Prim
from et_vm.kernels.registry import Param
from et_vm.load import code
from et_vm.load.code import Code, has_data, unusual, values_of
from et_vm.load.instructions import Instruction, call_outputs, is_constant, written_tensors

KINDS = (
    "Null",
    "Int",
    "Bool",
    "Double",
    "String",
    "IntList",
    "DoubleList",
    "BoolList",
    "TensorList",
    "OptionalTensorList",
    "Tensor",
)
BIT = {kind: 1 << at for at, kind in enumerate(KINDS)}
DATA = BIT["Tensor"]
NO_DATA = 1 << len(KINDS)
CONSTANT = 1 << len(KINDS) + 1
TENSOR = DATA | NO_DATA | CONSTANT
ANYTHING = (1 << len(KINDS) + 2) - 1
_BITS = np.array([ANYTHING, *(BIT[kind.__name__] for kind in code.KINDS)])
# What the items of a list may be.
_ITEMS = {"IntList": BIT["Int"], "TensorList": TENSOR, "OptionalTensorList": TENSOR | BIT["Null"]}
REGISTER_LISTS = (IntList, TensorList, OptionalTensorList)
_IS_LIST = np.array([False, *(kind in REGISTER_LISTS for kind in code.KINDS)])

# States and instructions that the analysis may go through for each register and instruction of the plan. Without jumps
# it takes one; without a limit, a small file with many jumps between many registers takes hours.
WORK_FACTOR = 64

Signature = Callable[[Instruction], Sequence[Param] | None]
State = dict[int, int]


@cache
def bits_of(kinds: frozenset[str]) -> int:
    """The states a parameter that takes `kinds` can be given; a tensor must have data."""
    bits = 0
    for kind in kinds:
        bits |= DATA | CONSTANT if kind == "Tensor" else BIT[kind]
    return bits


@cache
def _taken(kinds: frozenset[str]) -> int:
    """The states that are no wrong kind for a parameter that takes `kinds`. A tensor without data is another
    fault.
    """
    wanted = bits_of(kinds)
    return wanted | (TENSOR if wanted & DATA else 0)


def describe(bits: int) -> str:
    """`Int or Tensor`."""
    names = [kind for kind in KINDS if bits & BIT[kind]]
    if bits & CONSTANT and not bits & DATA:
        names.append("Tensor")
    if bits & NO_DATA:
        names.append("Tensor without data")
    return " or ".join(names) or "nothing"


class Flow:
    """The analysis of one plan, made once and not changed after that, so threads may share it.

    `check` and `check_calls` report; the other results are what loading needs to know of registers.
    `work` is how many states and instructions the analysis went through.
    """

    def __init__(self, plan: ExecutionPlan, instructions: Sequence[Instruction], where: str) -> None:
        self.instructions = instructions
        self._plan = plan
        self._where = where
        self._unusual = unusual(instructions)
        self._aliased = {
            instruction.args[-1]
            for instruction in self._unusual
            if instruction.opcode.mnemonic == "move" or instruction.is_view
        }
        self._initial, lists = self._initial_states()
        # Registers of which nothing has to be asked as long as they hold what the file says.
        self._sound = [
            bits != NO_DATA and not is_list for bits, is_list in zip(self._initial, lists, strict=True)
        ]
        self.rebound = self._rebound_registers()
        """Registers that come to hold another object, or a tensor with other bytes, while the method runs."""
        jumps = [instruction for instruction in self._unusual if instruction.target >= 0]
        leaders = {0} | {jump.target for jump in jumps} | {jump.index + 1 for jump in jumps}
        self._block_ends = dict(pairwise(sorted(leaders | {len(instructions)})))
        tracked = self.rebound | {at for at, bits in enumerate(self._initial) if bits & NO_DATA}
        self._tracks = bool(tracked)
        for register in self._sound_lists(tracked):
            self._sound[register] = True
        self._looked_at = self._instructions_to_look_at(tracked)
        self._places = [instruction.index for instruction in self._looked_at]
        self.work = 0
        entries = self._solve({register: self._initial[register] for register in tracked})
        if entries is None:
            for register in tracked:
                self._initial[register] = ANYTHING
            entries = dict.fromkeys(self._block_ends, State())
        self._entries = entries

    def _sound_lists(self, tracked: Set[int]) -> Iterator[int]:
        """The lists whose items are what such lists hold, and stay that."""
        values = values_of(self._plan)
        if values is None:
            return
        states = np.array(self._initial)
        good = states != NO_DATA
        good[list(tracked)] = False
        for kind in REGISTER_LISTS:
            wanted = good & ((states & _ITEMS[kind.__name__]) != 0)
            registers, items, starts = values.lists(self._plan, kind)
            bad = np.cumsum([0, *((items >= 0) & ~wanted[items])])
            for register in registers[bad[starts[1:]] == bad[starts[:-1]]].tolist():
                if register not in tracked:
                    yield register

    def _instructions_to_look_at(self, tracked: Set[int]) -> Sequence[Instruction]:
        """The instructions that may have a fault, or change what is known of a register: all but calls of kernels that
        are given nothing but sound arguments which are not tracked.
        """
        listed = self.instructions
        if not isinstance(listed, Code):
            return listed
        touched = ~np.array(self._sound)
        touched[list(tracked)] = True
        some = np.logical_or.reduceat(touched[listed.args.items], listed.args.starts[:-1]) & listed.usual
        calls = listed.some(listed.at[some])
        return list(merge(listed.unusual, calls, key=lambda instruction: instruction.index))

    def _initial_states(self) -> tuple[list[int], list[bool]]:
        """What each register may hold at the start, and whether that is a list of registers."""
        values = values_of(self._plan)
        if values is not None:
            bits = _BITS[values.kinds]
            bits[values.tensors] = NO_DATA
            bits[values.has_data] = DATA
            bits[values.constant] = CONSTANT
            states, lists = bits.tolist(), _IS_LIST[values.kinds].tolist()
        else:
            states, lists = list[int](), list[bool]()
            for value in self._plan.values:
                table = value.val
                # A value that could not be read may be anything.
                bits = ANYTHING if table is None else BIT[type(table).__name__]
                if isinstance(table, Tensor) and not has_data(table):
                    bits = NO_DATA
                elif is_constant(table):
                    bits = CONSTANT
                states.append(bits)
                lists.append(isinstance(table, REGISTER_LISTS))
        # The method owns memory for the inputs and outputs that nobody planned.
        for register in self._plan.inputs:
            if states[register] == NO_DATA:
                states[register] = DATA
        for register in self._plan.outputs:
            if states[register] == NO_DATA and register not in self._aliased:
                states[register] = DATA
        return states, lists

    def owned_outputs(self) -> set[int]:
        """Output registers that need memory of the method's own: tensors without data that no move or view
        fills.
        """
        return {
            register
            for register in self._plan.outputs
            if register not in self._aliased
            and isinstance(table := self._plan.values[register].val, Tensor)
            and not has_data(table)
        }

    def _rebound_registers(self) -> set[int]:
        rebound: set[int] = set()
        for instruction in self._unusual:
            if instruction.opcode.mnemonic == "free":
                rebound.add(instruction.args[0])
            elif instruction.assigned is not None:
                rebound.add(instruction.assigned)
        return rebound

    def state(self, state: State, register: int) -> int:
        """Possible contents of `register` in `state`."""
        bits = state.get(register)
        return self._initial[register] if bits is None else bits

    def check(self, problems: Problems = FIRST) -> None:
        """Report each use that fails on every path to it, whatever the kernels are; of a tensor without data the
        first.
        """
        missing: set[int] = set()
        for instruction, state in self._walk():
            self._check_instruction(instruction, state, missing, problems)
        at_end = self._entries.get(len(self.instructions), {})
        for at, register in enumerate(self._plan.outputs):
            bits = at_end.get(register, TENSOR)
            fault = ""
            if bits == NO_DATA and register not in missing:
                fault = f"output value {register} is never set"
            elif not bits & TENSOR and isinstance(self._plan.values[register].val, Tensor):
                fault = f"output value {register}, a Tensor, holds {describe(bits)} at the end"
            if fault:
                problems.add(InvalidFile(fault, where=f"{self._where}.outputs[{at}]"))
        self._check_end(problems)

    def check_calls(
        self, calls: Sequence[Instruction], signature: Signature, problems: Problems = FIRST
    ) -> None:
        """Report each argument of some kernel calls that on every path to it is of a kind that the kernel does not
        take. `signature` gives the parameters of the kernel, or None where they are not known.
        """
        wanted = {call.index for call in calls}
        looked_at = set(self._places) if self._tracks else set[int]()
        # The states of what the others are given do not change.
        others = ((call, State()) for call in calls if call.index not in looked_at)
        for instruction, state in chain(self._walk() if self._tracks else (), others):
            if instruction.index not in wanted:
                continue
            if instruction.opcode.mnemonic == "call" and instruction.prim is None:
                params = signature(instruction) or ()
                for at, (register, param) in enumerate(zip(instruction.args, params, strict=False)):
                    if register not in state and self._initial[register] & _taken(param.kinds):
                        continue
                    self._check_kind(instruction, at, register, state, param, problems)

    def _check_end(self, problems: Problems) -> None:
        """Report a method that cannot end, whatever its inputs: one whose jumps on constants lead in a circle."""
        pending, seen = [0], {0}
        last = None
        while pending:
            start = pending.pop()
            end = self._block_ends.get(start)
            if end is None:
                return
            last = self.instructions[end - 1]
            following = list(self._successors(start))
            if last.target >= 0 and last.args[0] not in self.rebound:
                condition = self._plan.values[last.args[0]].val
                if isinstance(condition, Bool):
                    following = [end if condition.bool_val else last.target]
            pending += [at for at in following if at not in seen]
            seen.update(following)
        if last is not None:
            raise_at = f"{last.where}.destination_instruction"
            problems.add(InvalidFile("the method cannot end: this loop has no exit", where=raise_at))

    def _walk(self) -> Iterator[tuple[Instruction, State]]:
        """The instructions that have to be looked at, with the states before them. A jump may go on, so some path leads
        to every instruction.
        """
        for start in self._block_ends:
            state = dict(self._entries[start])
            for instruction in self._block(start):
                yield instruction, state
                self._apply(instruction, state)

    def _block(self, start: int) -> Sequence[Instruction]:
        """Of the basic block at `start`, the instructions that have to be looked at; none at the end of the list."""
        end = self._block_ends.get(start, start)
        return self._looked_at[bisect_left(self._places, start) : bisect_left(self._places, end)]

    def _successors(self, start: int) -> Iterator[int]:
        """The blocks that may follow the one at `start`."""
        end = self._block_ends.get(start)
        if end is not None:
            yield end
            if self.instructions[end - 1].target >= 0:
                yield self.instructions[end - 1].target

    def _solve(self, state: State) -> dict[int, State] | None:
        """The state at the start of each basic block, and at the end of the list, if `state` is the one at the
        start of the first; None when that takes too long.
        """
        entries = {0: state}
        # In the order of the list, so that of the blocks that lead to one most are done before it.
        pending, waiting = [0], {0}
        limit = WORK_FACTOR * (len(self.instructions) + len(self._initial) + 1)
        while pending:
            start = heappop(pending)
            waiting.discard(start)
            state = dict(entries[start])
            block = self._block(start)
            self.work += self._block_ends.get(start, start) - start + len(state)
            if self.work > limit:
                return None
            for instruction in block:
                self._apply(instruction, state)
            for at in self._successors(start):
                if self._join(entries, at, state) and at not in waiting:
                    heappush(pending, at)
                    waiting.add(at)
        return entries

    @staticmethod
    def _join(entries: dict[int, State], at: int, state: State) -> bool:
        """Unite `state` into the one at the start of block `at`; whether that changed it."""
        known = entries.get(at)
        if known is None:
            entries[at] = dict(state)
            return True
        changed = False
        for register, bits in state.items():
            if bits & ~known[register]:
                known[register] |= bits
                changed = True
        return changed

    def _apply(self, instruction: Instruction, state: State) -> None:
        mnemonic = instruction.opcode.mnemonic
        if not state and mnemonic == "call" and instruction.prim is None:
            return
        args = instruction.args
        if mnemonic == "move":
            state[args[1]] = self.state(state, args[0])
        elif mnemonic == "free":
            state[args[0]] = NO_DATA
        elif mnemonic == "call":
            prim = instruction.prim
            if instruction.is_view:
                # In the bytes of its source, which has some.
                state[args[-1]] = self.state(state, args[0]) & (DATA | CONSTANT) or DATA
                return
            if prim is not None and not prim.in_place:
                state[args[-1]] = bits_of(prim.result)
                return
            for register in written_tensors(instruction, self._plan):
                if self._grows(register) and register in state:
                    state[register] = DATA
        else:
            for register in args:
                if self._grows(register) and register in state:
                    state[register] = DATA

    def _grows(self, register: int) -> bool:
        """Whether the register is a tensor that gets memory when it is written."""
        table = self._plan.values[register].val
        return isinstance(table, Tensor) and table.shape_dynamism == TensorShapeDynamism.DYNAMIC_UNBOUND

    def _check_instruction(
        self, instruction: Instruction, state: State, missing: set[int], problems: Problems
    ) -> None:
        mnemonic = instruction.opcode.mnemonic
        args = instruction.args
        if mnemonic == "call":
            if instruction.prim is not None:
                self._check_prim(instruction, instruction.prim, state, missing, problems)
                return
            outputs: set[int] | None = None
            for at, register in enumerate(args):
                if self._sound[register] and register not in state:
                    continue
                if outputs is None:
                    outputs = set(call_outputs(instruction, self._plan))
                self._check_data(instruction, at, str(at), register, state, outputs, missing, problems)
            self._check_writes(instruction, state, problems)
        elif mnemonic == "delegate":
            for at, register in enumerate(args):
                self._check_data(instruction, at, str(at), register, state, set(args), missing, problems)
        elif mnemonic == "jump_false":
            self._check_condition(instruction, state, problems)
        elif mnemonic == "free" and not self.state(state, args[0]) & TENSOR:
            held = describe(self.state(state, args[0]))
            problems.add(
                InvalidFile(
                    f"free of value {args[0]}, a {held}, not a Tensor",
                    code=Error.InvalidType,
                    where=f"{instruction.where}.value_index",
                )
            )

    def _check_prim(
        self, instruction: Instruction, prim: Prim, state: State, missing: set[int], problems: Problems
    ) -> None:
        args = instruction.args
        if len(args) != prim.arity:
            problems.add(
                InvalidFile(
                    f"{instruction.name} takes {prim.arity} arguments, got {len(args)}",
                    where=f"{instruction.where}.args",
                )
            )
            return
        for at, (name, kinds) in enumerate(prim.params):
            growing = set(args[:1]) if prim.in_place and at == 0 else set[int]()
            self._check_data(instruction, at, name, args[at], state, growing, missing, problems)
            self._check_kind(instruction, at, args[at], state, Param(name, kinds, False), problems)
        self._check_writes(instruction, state, problems)
        if instruction.is_view and not self.state(state, args[-1]) & TENSOR:
            got = self.state(state, args[-1])
            problems.add(self._wrong_kind(instruction, len(args) - 1, "out", TENSOR, got))

    def _check_writes(self, instruction: Instruction, state: State, problems: Problems) -> None:
        """Report writes to a constant by another name; to constants themselves they are reported before."""
        if not state:
            return
        for register in written_tensors(instruction, self._plan):
            if self.state(state, register) == CONSTANT and not is_constant(self._plan.values[register].val):
                problems.add(
                    InvalidFile(
                        f"{instruction.name} writes to value {register}, which aliases a constant here",
                        where=f"{instruction.where}.args",
                    )
                )

    def _check_data(
        self,
        instruction: Instruction,
        at: int,
        name: str,
        register: int,
        state: State,
        outputs: set[int],
        missing: set[int],
        problems: Problems,
    ) -> None:
        """Report an argument that is a tensor without data, or a list with items that are, or that are of no kind that
        such a list holds. Only tensors of the `outputs` may be such that grow, by themselves or in a list.
        """
        table = self._plan.values[register].val
        items = (
            table.items if isinstance(table, REGISTER_LISTS) and not self._changes(state, register) else ()
        )
        for item in (register, *items):
            if item < 0 or item in missing:
                continue
            bits = self.state(state, item)
            if bits == NO_DATA and not (item in outputs and self._grows(item)):
                missing.add(item)
                problems.add(
                    InvalidFile(
                        f"{instruction.name}: argument '{name}' is value {item}, a tensor that has no data here",
                        where=f"{instruction.where}.args[{at}]",
                        hint="it was never set, or it was freed",
                    )
                )
            elif item is not register and not bits & _ITEMS[type(table).__name__]:
                problems.add(
                    self._wrong_kind(instruction, at, f"{name}[]", _ITEMS[type(table).__name__], bits)
                )

    def _changes(self, state: State, register: int) -> bool:
        """Whether the register may hold something else than in the file."""
        return self.state(state, register) != self._initial[register] or register in self.rebound

    def _check_kind(
        self,
        instruction: Instruction,
        at: int,
        register: int,
        state: State,
        param: Param,
        problems: Problems,
    ) -> None:
        if not param.kinds:
            return
        bits = self.state(state, register)
        wanted = bits_of(param.kinds)
        if not bits & _taken(param.kinds) and not self._empty_list(register, wanted):
            problems.add(self._wrong_kind(instruction, at, param.name, wanted, bits))

    def _empty_list(self, register: int, wanted: int) -> bool:
        """An empty list fits every kind of list: nothing in the file tells them apart reliably."""
        items: object = getattr(self._plan.values[register].val, "items", None)
        return isinstance(items, list) and not items and any(wanted & BIT[kind] for kind in KINDS[5:10])

    @staticmethod
    def _wrong_kind(instruction: Instruction, at: int, name: str, wanted: int, got: int) -> InvalidFile:
        return InvalidFile(
            f"{instruction.name}: argument '{name}': expected {describe(wanted)}, got {describe(got)}",
            code=Error.InvalidType,
            where=f"{instruction.where}.args[{at}]",
        )

    def _check_condition(self, instruction: Instruction, state: State, problems: Problems) -> None:
        register = instruction.args[0]
        bits = self.state(state, register)
        table = self._plan.values[register].val
        path = f"{instruction.where}.cond_value_index"
        wrong_type = isinstance(table, Tensor) and table.scalar_type != ScalarType.BOOL
        if not bits & (BIT["Bool"] | DATA | CONSTANT):
            fault = f"the condition is value {register}, a {describe(bits)}"
            problems.add(InvalidFile(fault, where=path))
        elif bits & (DATA | CONSTANT) == bits and register not in self.rebound and wrong_type:
            fault = f"the condition is value {register}, a tensor that is not Bool"
            problems.add(InvalidFile(fault, where=path))
