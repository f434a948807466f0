"""What registers can hold where they are used: types and data, followed through moves, jumps and frees.

A forward data-flow analysis over the instruction list. The state of a register is the set of things it may
hold, as bits: one for each value kind, with a tensor split in two, with data and without. States of paths
that meet are united, so an error means that the use fails on *every* path to it; what fails on some paths
only is left to the check at run time.

Only registers that change are tracked: targets of moves, outputs of prims, freed tensors, and tensors that
start without data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from et_schema.errors import Error, InvalidFile
from et_schema.generated.program import ExecutionPlan, Tensor, TensorList, TensorShapeDynamism
from et_schema.scalar_type import ScalarType
from et_vm.instructions import Instruction, call_outputs, written_tensors
from et_vm.kernels.registry import Param
from et_vm.prims import Prim

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
TENSOR = DATA | NO_DATA

Signature = Callable[[Instruction], Sequence[Param] | None]
State = dict[int, int]


def bits_of(kinds: frozenset[str]) -> int:
    """The states a parameter that takes ``kinds`` can be given; a tensor must have data."""
    bits = 0
    for kind in kinds:
        bits |= BIT[kind]
    return bits


def describe(bits: int) -> str:
    """``Int or Tensor``."""
    names = [kind for kind in KINDS if bits & BIT[kind]]
    if bits & NO_DATA:
        names.append("Tensor without data")
    return " or ".join(names) or "nothing"


class Flow:
    """The analysis of one plan. :meth:`check` raises; the other results are what loading needs to know of
    registers.
    """

    def __init__(self, plan: ExecutionPlan, instructions: Sequence[Instruction], where: str) -> None:
        self._plan = plan
        self._instructions = instructions
        self._where = where
        self._initial = self._initial_states()
        self.rebound = self._rebound_registers()
        """Registers that come to hold another object, or a tensor with other bytes, while the method runs."""
        jumps = [instruction for instruction in instructions if instruction.target >= 0]
        self._leaders = {jump.target for jump in jumps} | {jump.index + 1 for jump in jumps}
        tracked = self.rebound | {at for at, bits in enumerate(self._initial) if bits & NO_DATA}
        self._entry: State = {register: self._initial[register] for register in tracked}

    def _initial_states(self) -> list[int]:
        states: list[int] = []
        for value in self._plan.values:
            table = value.val
            bits = BIT[type(table).__name__]
            if isinstance(table, Tensor) and not _has_data(table):
                bits = NO_DATA
            states.append(bits)
        # The method owns memory for the inputs and outputs that nobody planned.
        aliased = self._aliased_registers()
        for register in self._plan.inputs:
            if states[register] == NO_DATA:
                states[register] = DATA
        for register in self._plan.outputs:
            if states[register] == NO_DATA and register not in aliased:
                states[register] = DATA
        return states

    def _aliased_registers(self) -> set[int]:
        """Registers that moves and views point elsewhere."""
        aliased: set[int] = set()
        for instruction in self._instructions:
            if instruction.opcode.mnemonic == "move" or instruction.is_view:
                aliased.add(instruction.args[-1])
        return aliased

    def owned_outputs(self) -> set[int]:
        """Output registers that need memory of the method's own: tensors without data that no move or view
        fills.
        """
        aliased = self._aliased_registers()
        return {
            register
            for register in self._plan.outputs
            if register not in aliased
            and isinstance(table := self._plan.values[register].val, Tensor)
            and not _has_data(table)
        }

    def _rebound_registers(self) -> set[int]:
        rebound: set[int] = set()
        for instruction in self._instructions:
            if instruction.opcode.mnemonic == "free":
                rebound.add(instruction.args[0])
            elif instruction.assigned is not None:
                rebound.add(instruction.assigned)
        return rebound

    def state(self, state: State, register: int) -> int:
        """What ``register`` may hold in ``state``."""
        bits = state.get(register)
        return self._initial[register] if bits is None else bits

    def check(self, signature: Signature) -> None:
        """Raise InvalidFile for the first use that fails on every path to it.

        ``signature`` gives the parameters of the kernel that an instruction calls, or None where they are
        not known.
        """
        entries = self._solve()
        for start in sorted(entries):
            state = dict(entries[start])
            for instruction in self._block(start):
                self._check_instruction(instruction, state, signature)
                self._apply(instruction, state)
        at_end = entries.get(len(self._instructions), {})
        for at, register in enumerate(self._plan.outputs):
            if at_end.get(register) == NO_DATA:
                raise InvalidFile(
                    f"output value {register} never gets data", where=f"{self._where}.outputs[{at}]"
                )

    def _block(self, start: int) -> Iterator[Instruction]:
        """The instructions from ``start`` to the end of its basic block."""
        for instruction in self._instructions[start:]:
            yield instruction
            if instruction.target >= 0 or instruction.index + 1 in self._leaders:
                return

    def _solve(self) -> dict[int, State]:
        """The state at the start of each basic block that is reached, and at the end of the list."""
        entries: dict[int, State] = {0: dict(self._entry)}
        pending = [0]
        while pending:
            start = pending.pop()
            state = dict(entries[start])
            end = start
            for instruction in self._block(start):
                self._apply(instruction, state)
                end = instruction.index + 1
                if instruction.target >= 0 and self._join(entries, instruction.target, state):
                    pending.append(instruction.target)
            if end > start and self._join(entries, end, state):
                pending.append(end)
        return entries

    @staticmethod
    def _join(entries: dict[int, State], at: int, state: State) -> bool:
        """Unite ``state`` into the one at the start of block ``at``; whether that changed it."""
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
        args = instruction.args
        if mnemonic == "move":
            state[args[1]] = self.state(state, args[0])
        elif mnemonic == "free":
            state[args[0]] = NO_DATA
        elif mnemonic == "call":
            prim = instruction.prim
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

    def _check_instruction(self, instruction: Instruction, state: State, signature: Signature) -> None:
        mnemonic = instruction.opcode.mnemonic
        args = instruction.args
        if mnemonic == "call":
            if instruction.prim is not None:
                self._check_prim(instruction, instruction.prim, state)
                return
            outputs = call_outputs(instruction, self._plan)
            params = signature(instruction)
            for at, register in enumerate(args):
                known = params is not None and at < len(params)
                param = params[at] if known and params is not None else None
                self._check_argument(instruction, at, register, state, param, register in outputs)
        elif mnemonic == "delegate":
            for at, register in enumerate(args):
                self._check_argument(instruction, at, register, state, None, True)
        elif mnemonic == "jump_false":
            self._check_condition(instruction, state)
        elif mnemonic == "free" and not self.state(state, args[0]) & TENSOR:
            held = describe(self.state(state, args[0]))
            raise InvalidFile(
                f"free of value {args[0]}, a {held}, not a Tensor",
                code=Error.InvalidType,
                where=f"{instruction.where}.value_index",
            )

    def _check_prim(self, instruction: Instruction, prim: Prim, state: State) -> None:
        args = instruction.args
        if len(args) != prim.arity:
            raise InvalidFile(
                f"{instruction.name} takes {prim.arity} arguments, got {len(args)}",
                where=f"{instruction.where}.args",
            )
        for at, (name, kinds) in enumerate(prim.params):
            growing = prim.in_place and at == 0
            self._check_argument(instruction, at, args[at], state, Param(name, kinds, False), growing)
        if instruction.is_view and not self.state(state, args[-1]) & TENSOR:
            raise self._wrong_kind(instruction, len(args) - 1, "out", TENSOR, self.state(state, args[-1]))

    def _check_argument(
        self,
        instruction: Instruction,
        at: int,
        register: int,
        state: State,
        param: Param | None,
        output: bool,
    ) -> None:
        bits = self.state(state, register)
        name = param.name if param is not None else str(at)
        if bits == NO_DATA and not (output and self._grows(register)):
            raise InvalidFile(
                f"{instruction.name}: argument '{name}' is value {register}, a tensor that has no data here",
                where=f"{instruction.where}.args[{at}]",
                hint="nothing sets it before, or it was freed",
            )
        if param is not None and param.kinds:
            wanted = bits_of(param.kinds)
            if not bits & (wanted | (NO_DATA if wanted & DATA else 0)) and not self._empty_list(
                register, wanted
            ):
                raise self._wrong_kind(instruction, at, name, wanted, bits)
        table = self._plan.values[register].val
        if isinstance(table, TensorList):
            for item in table.items:
                self._check_argument(instruction, at, item, state, None, output)

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

    def _check_condition(self, instruction: Instruction, state: State) -> None:
        register = instruction.args[0]
        bits = self.state(state, register)
        table = self._plan.values[register].val
        path = f"{instruction.where}.cond_value_index"
        if not bits & (BIT["Bool"] | DATA):
            raise InvalidFile(f"the condition is value {register}, a {describe(bits)}", where=path)
        wrong_type = isinstance(table, Tensor) and table.scalar_type != ScalarType.BOOL
        if bits == DATA and register not in self.rebound and wrong_type:
            raise InvalidFile(f"the condition is value {register}, a tensor that is not Bool", where=path)


def _has_data(table: Tensor) -> bool:
    """Whether the file itself gives the tensor bytes, in an arena, in a segment or in a data file."""
    extra = table.extra_tensor_info
    external = extra is not None and extra.location != 0
    return table.allocation_info is not None or table.data_buffer_idx > 0 or external
