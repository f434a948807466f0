"""A method described by what its values are, not by their numbers."""

from __future__ import annotations

from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from et_tools.info.tensors import describe, tensor_facts, tensor_name
from et_tools.info.values import literal

if TYPE_CHECKING:
    from et_schema.program import ExecutionPlan, Tensor
    from et_vm.load.instructions import Instruction
    from et_vm.program import Program


class Line(NamedTuple):
    """One instruction: `text` with every value described, and the registers that are no constants in order."""

    text: str
    registers: tuple[int, ...]


class DescribedMethod:
    """A method of a program; every attribute can be compared with that of another program's method."""

    def __init__(self, program: Program, name: str) -> None:
        self._program = program
        self.name = name
        self.plan: ExecutionPlan = program.plan(name)
        self._index = program.plan_index(name)
        self._rebound = program.flow(self._index).rebound
        self._descriptions: dict[int, str] = {}

    def inputs(self) -> list[str]:
        """Input given by the caller; a number with the value that was exported."""
        return [self.describe(register) for register in self.plan.inputs]

    def outputs(self) -> list[str]:
        """Output returned to the caller."""
        return [self.describe(register) for register in self.plan.outputs]

    def arenas(self) -> dict[int, int]:
        """Bytes by memory id."""
        return dict(enumerate(self.plan.non_const_buffer_sizes[1:], 1))

    def structure(self) -> tuple[str, str]:
        """Nesting of inputs and outputs, as torch's specs."""
        container = self.plan.container_meta_type
        return ("", "") if container is None else (container.encoded_inp_str, container.encoded_out_str)

    def sources(self) -> list[str]:
        """The innermost source line of each instruction."""
        found: list[str] = []
        for instruction in self._program.instructions(self._index):
            frame = instruction.frames[-1] if instruction.frames else None
            found.append("" if frame is None else f"{frame.filename}:{frame.lineno} in {frame.name}")
        return found

    @cached_property
    def lines(self) -> list[Line]:
        """The instructions."""
        return [self._line(instruction) for instruction in self._program.instructions(self._index)]

    def delegate_blob(self, index: int) -> memoryview:
        """Preprocessed data of a delegate."""
        reference = self.plan.delegates[index].processed
        assert reference is not None, "reading the file checks that delegates have data"
        return self._program.pte.delegate_data(reference)

    def place(self, register: int) -> str:
        """Place of a tensor's bytes."""
        table = self.plan.values[register].val
        allocation = getattr(table, "allocation_info", None)
        if allocation is None:
            return "outside the arenas"
        offset = allocation.memory_offset_high << 32 | allocation.memory_offset_low
        return f"arena {allocation.memory_id} at {offset:,}"

    def describe(self, register: int) -> str:
        """A value in words: a constant by name and contents, a number by its value, a tensor by its type."""
        known = self._descriptions.get(register)
        if known is None:
            known = self._descriptions[register] = literal(self.plan, register, self._rebound, self._show)
        return known

    def _show(self, register: int) -> str:
        from et_schema.program import Tensor

        table = self.plan.values[register].val
        return self._describe_tensor(table) if isinstance(table, Tensor) else type(table).__name__

    def _describe_tensor(self, table: Tensor) -> str:
        from et_vm.load.instructions import is_constant
        from et_vm.meta import TensorInfo
        from et_vm.verify.tensors import tensor_bytes, tensor_data

        facts = tensor_facts(TensorInfo(table, tensor_name(table)))
        facts.pop("planned")
        text = describe(facts)
        if table.extra_tensor_info is not None and table.extra_tensor_info.location:
            return f"{text} in a data file"
        if is_constant(table) and not tensor_name(table):
            data = tensor_data(table, tensor_bytes(table), self._program.pte)
            return f"{text} #{sha256(data).hexdigest()[:8]}"
        return text

    def _line(self, instruction: Instruction) -> Line:
        from et_vm.load.instructions import call_inputs, call_outputs

        args = instruction.args
        registers: list[int] = []
        for register in args:
            self._collect(register, registers)
        described = ", ".join(self.describe(register) for register in args)
        match instruction.opcode.mnemonic:
            case "call":
                described = ", ".join(map(self.describe, call_inputs(instruction, self.plan)))
                results = ", ".join(
                    self.describe(register) for register in call_outputs(instruction, self.plan)
                )
                text = f"{instruction.name}({described}) -> {results}"
            case "delegate":
                text = f"delegate {instruction.name}({described})"
            case "jump_false":
                text = f"unless {described} go {instruction.target - instruction.index:+}"
            case mnemonic:
                text = f"{mnemonic} {described}"
        return Line(text, tuple(registers))

    def _collect(self, register: int, found: list[int]) -> None:
        """Append the registers that a value is, or lists, unless they are known by what they are."""
        from et_schema.program import IntList, OptionalTensorList, TensorList
        from et_schema.program import Tensor as TensorTable
        from et_vm.load.instructions import is_constant

        table = self.plan.values[register].val
        if register in self._rebound or (isinstance(table, TensorTable) and not is_constant(table)):
            found.append(register)
        elif isinstance(table, IntList | TensorList | OptionalTensorList):
            for item in table.items:
                if item >= 0:
                    self._collect(item, found)
