"""Entry points for C, as LLVM assembly: method steps become calls, copies and branches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from et_backends.codegen.passes.convert_to_llvm import REPORT
from et_backends.freestanding.compiler.interface import Interface, StateTensor
from et_backends.freestanding.compiler.schedule import (
    Arena,
    Branch,
    Call,
    Constant,
    Copy,
    Given,
    Loop,
    Place,
    Repeat,
    Schedule,
    Slice,
    State,
    Step,
)
from et_ir.data import Blob

__all__ = ["Program", "constant_text", "entry_text", "report_text", "reset_function", "reset_text"]


@dataclass(frozen=True)
class Program:
    """A partition as a function in LLVM assembly."""

    function: str
    constants: Sequence[str]
    """Keys of its constants, in the order of the arguments for them."""
    first_message: int
    """The number of its first message in the method, from 0."""
    messages: int


def report_text(index_bits: int) -> str:
    """The error-reporting function of kernels: keeps the lowest message number, offset by preceding programs'.

    Its context is two i32: the result of the method, and the number of messages before those of the program.
    """
    index = f"i{index_bits}"
    return "\n".join(
        [
            f"define void @{REPORT}(ptr %status, {index} %number) alwaysinline {{",
            "  %base_at = getelementptr i32, ptr %status, i32 1",
            "  %base = load i32, ptr %base_at",
            f"  %wide = add {index} %number, 1",
            f"  %told = {'add i32 %wide, 0' if index == 'i32' else f'trunc {index} %wide to i32'}",
            "  %reported = add i32 %told, %base",
            "  %before = load i32, ptr %status",
            "  %none = icmp eq i32 %before, 0",
            "  %first = icmp slt i32 %reported, %before",
            "  %better = or i1 %none, %first",
            "  %least = select i1 %better, i32 %reported, i32 %before",
            "  store i32 %least, ptr %status",
            "  ret void",
            "}",
            "",
        ]
    )


def constant_text(number: int, blob: Blob, alignment: int) -> str:
    """A constant in read-only memory."""
    data = bytes(blob.view())
    text = "".join(_ESCAPES[byte] for byte in data)
    kind = "internal unnamed_addr constant"
    return f'@constant_{number} = {kind} [{len(data)} x i8] c"{text}", align {alignment}\n'


_ESCAPES: Final = [f"\\{byte:02x}" for byte in range(256)]


def reset_function(prefix: str) -> str:
    """The name of the function that resets the state to its initial values."""
    return f"{prefix}_reset_state"


def reset_text(name: str, state: Sequence[StateTensor], constants: Mapping[str, int], index_bits: int) -> str:
    """The function that resets the state to its initial values."""
    lines = [f"define void @{name}(ptr %state) nounwind {{"]
    for number, one in enumerate(state):
        lines.append(f"  %field{number} = getelementptr i8, ptr %state, i{index_bits} {one.offset}")
        size = f"i{index_bits} {one.tensor.nbytes}"
        alignment = one.tensor.element.itemsize
        if one.value is None:
            lines.append(
                f"  call void {_set(index_bits)}(ptr align {alignment} %field{number}, i8 0, {size}, i1 0)"
            )
        else:
            source = f"ptr align {alignment} @constant_{constants[f'sha256:{one.value.sha256}']}"
            target = f"ptr align {alignment} %field{number}"
            lines.append(f"  call void {_copy(index_bits)}({target}, {source}, {size}, i1 0)")
    return "\n".join([*lines, "  ret void", "}", *_declarations(index_bits), ""])


def _copy(index_bits: int) -> str:
    return f"@llvm.memcpy.p0.p0.i{index_bits}"


def _set(index_bits: int) -> str:
    return f"@llvm.memset.p0.i{index_bits}"


def _declarations(index_bits: int) -> list[str]:
    return [
        f"declare void {_copy(index_bits)}(ptr, ptr, i{index_bits}, i1)",
        f"declare void {_set(index_bits)}(ptr, i8, i{index_bits}, i1)",
    ]


def entry_text(
    interface: Interface,
    schedule: Schedule,
    programs: Mapping[int, Program],
    constants: Mapping[str, int],
    state: Sequence[StateTensor],
    index_bits: int,
) -> str:
    """The function of a method.

    `programs` are those of its calls, by `id`; `constants` are the numbers of constants by key.
    """
    offsets = {one.symbol: one.offset for one in state}
    return _Entry(interface, programs, constants, offsets, f"i{index_bits}").text(schedule)


class _Entry:
    def __init__(
        self,
        interface: Interface,
        programs: Mapping[int, Program],
        constants: Mapping[str, int],
        offsets: Mapping[str, int],
        index: str,
    ):
        self._interface = interface
        self._programs = programs
        self._constants = constants
        self._offsets = offsets
        self._index = index
        self._arenas = [f"%arena{number}" for number in range(len(interface.arenas))] or ["%arena"]
        self._lines: list[str] = []
        self._count = 0
        self._loops: dict[Repeat, str] = {}

    def text(self, schedule: Schedule) -> str:
        interface = self._interface
        for kind, tensors in (("inputs", interface.inputs), ("outputs", interface.outputs)):
            for number in range(len(tensors)):
                at = self._value(f"getelementptr ptr, ptr %{kind}, i32 {number}")
                self._add(f"%{kind}{number} = load ptr, ptr {at}")
        for number in range(len(interface.arenas)):
            at = self._value(f"getelementptr ptr, ptr %arenas, i32 {number}")
            self._add(f"%arena{number} = load ptr, ptr {at}")
        self._steps(schedule.steps)
        state = "ptr %state, " if interface.state_bytes else ""
        arena = "%arenas" if interface.arenas else "%arena"
        declared = [self._declaration(one) for one in schedule.calls]
        # Allocations belong to the first block, also those for the counters of loops.
        allocated = [f"  {name} = alloca {self._index}" for name in self._loops.values()]
        return "\n".join(
            [
                *declared,
                *_declarations(int(self._index[1:])),
                f"define i32 @{interface.function}(ptr %inputs, ptr %outputs, {state}ptr {arena}) nounwind {{",
                "  %status = alloca [2 x i32]",
                *allocated,
                "  store i32 0, ptr %status",
                *self._lines,
                "  br label %end",
                "end:",
                "  %result = load i32, ptr %status",
                "  ret i32 %result",
                "}",
                "",
            ]
        )

    def _declaration(self, call: Call) -> str:
        program = self._programs[id(call)]
        count = 1 + len(call.inputs) + len(call.outputs) + len(program.constants) + len(self._arenas)
        return f"declare void @{program.function}({', '.join(['ptr'] * count)})"

    # -- steps

    def _steps(self, steps: Sequence[Step]) -> None:
        for one in steps:
            match one:
                case Call():
                    self._call(one)
                case Copy():
                    source, target = self._address(one.source), self._address(one.target)
                    sizes = f"{self._index} {one.nbytes}, i1 0"
                    name = _copy(int(self._index[1:]))
                    self._add(f"call void {name}(ptr {target}, ptr {source}, {sizes})")
                case Branch():
                    self._branch(one)
                case Loop():
                    self._loop(one)
                case Repeat():
                    self._repeat(one)

    def _call(self, call: Call) -> None:
        program = self._programs[id(call)]
        if program.messages:
            at = self._value("getelementptr i32, ptr %status, i32 1")
            self._add(f"store i32 {program.first_message}, ptr {at}")
        places = [self._address(one) for one in (*call.inputs, *call.outputs)]
        places += [f"@constant_{self._constants[key]}" for key in program.constants]
        arguments = ", ".join(f"ptr {one}" for one in ("%status", *places, *self._arenas))
        self._add(f"call void @{program.function}({arguments})")
        if program.messages:
            # What an index out of range would have led to decides nothing.
            status = self._value("load i32, ptr %status")
            failed = self._value(f"icmp ne i32 {status}, 0")
            label = self._label()
            self._add(f"br i1 {failed}, label %end, label %{label}")
            self._lines.append(f"{label}:")

    def _branch(self, step: Branch) -> None:
        condition = self._boolean(step.predicate)
        then, otherwise, end = self._label(), self._label(), self._label()
        self._add(f"br i1 {condition}, label %{then}, label %{otherwise}")
        for label, steps in ((then, step.then), (otherwise, step.otherwise)):
            self._lines.append(f"{label}:")
            self._steps(steps)
            self._add(f"br label %{end}")
        self._lines.append(f"{end}:")

    def _loop(self, step: Loop) -> None:
        start, body, end = self._label(), self._label(), self._label()
        self._add(f"br label %{start}")
        self._lines.append(f"{start}:")
        self._steps(step.condition)
        self._add(f"br i1 {self._boolean(step.predicate)}, label %{body}, label %{end}")
        self._lines.append(f"{body}:")
        self._steps(step.body)
        self._add(f"br label %{start}")
        self._lines.append(f"{end}:")

    def _repeat(self, step: Repeat) -> None:
        counter = self._loops[step] = f"%counter{len(self._loops)}"
        start, body, end = self._label(), self._label(), self._label()
        self._add(f"store {self._index} 0, ptr {counter}")
        self._add(f"br label %{start}")
        self._lines.append(f"{start}:")
        number = self._value(f"load {self._index}, ptr {counter}")
        more = self._value(f"icmp ult {self._index} {number}, {step.count}")
        self._add(f"br i1 {more}, label %{body}, label %{end}")
        self._lines.append(f"{body}:")
        self._steps(step.body)
        done = self._value(f"load {self._index}, ptr {counter}")
        self._add(f"store {self._index} {self._value(f'add {self._index} {done}, 1')}, ptr {counter}")
        self._add(f"br label %{start}")
        self._lines.append(f"{end}:")

    # -- values

    def _boolean(self, place: Place) -> str:
        byte = self._value(f"load i8, ptr {self._address(place)}")
        return self._value(f"icmp ne i8 {byte}, 0")

    def _address(self, place: Place) -> str:
        match place:
            case Given():
                return f"%{place.kind}{place.number}"
            case Constant():
                return f"@constant_{self._constants[place.key]}"
            case State():
                return self._at("%state", str(self._offsets[place.symbol]))
            case Arena():
                # Addresses of nothing stay what they are.
                return self._at(self._arenas[place.bank], str(place.offset if place.nbytes else 0))
            case Slice():
                number = self._value(f"load {self._index}, ptr {self._loops[place.loop]}")
                offset = self._value(f"mul {self._index} {number}, {place.nbytes}")
                return self._at(self._address(place.whole), offset)

    def _at(self, base: str, offset: str) -> str:
        return base if offset == "0" else self._value(f"getelementptr i8, ptr {base}, {self._index} {offset}")

    def _value(self, text: str) -> str:
        self._count += 1
        self._add(f"%v{self._count} = {text}")
        return f"%v{self._count}"

    def _label(self) -> str:
        self._count += 1
        return f"b{self._count}"

    def _add(self, line: str) -> None:
        self._lines.append(f"  {line}")
