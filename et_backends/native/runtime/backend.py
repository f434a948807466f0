"""Runs machine code of the compiler's native backend: maps it, gives it the addresses of tensors, and calls it.

Machine code in a file can do whatever the process can, so it runs only where the user allows it.
"""

from __future__ import annotations

import platform as host
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from et_backends.codegen.format import ENTRY, NO_REPORT, PREPARE, REPORT_AT
from et_backends.native.format import (
    NativeObject,
    NativeProgram,
    NativeTensor,
    NativeValue,
    NativeWord,
    check_room,
    evaluate_size,
    interface_symbol,
    read_native,
)
from et_backends.native.runtime.threads import Code, function_address, shared_pool
from et_backends.nested.runtime import NestedProgramBackend
from et_schema.errors import Error, ExecutorchError, InvalidFile
from et_vm.backend import Backend, BackendExecuteContext, BackendInitContext, Handle, PartWork
from et_vm.backends.bound import BoundArguments
from et_vm.backends.cpu import cpu_features, machine
from et_vm.backends.elf import load_object, machine_of
from et_vm.platform import ALIGNMENT
from et_vm.values import Array, Tensor

if TYPE_CHECKING:
    from et_schema.program import CompileSpec

__all__ = ["NativeBackend"]

CONTEXT_BYTES = 256
YIELD_AT, TIMES_AT, CLOCK_AT = 128, 136, 152
"""Where the context of a call has the addresses of `sched_yield`, of memory for times and its end, and of
`clock_gettime`.
"""


class NativeBackend(Backend):
    """Loads and calls machine code, or runs the portable program that is beside it where the code cannot or may not."""

    calculates = False

    def __init__(self) -> None:
        self._nested = NestedProgramBackend()

    def init(
        self, context: BackendInitContext, processed: memoryview, compile_specs: Sequence[CompileSpec]
    ) -> Handle:
        del compile_specs
        program = read_native(processed)
        if program.fallback and not (context.native.allowed and _fitting(program.objects)):
            return self._portable(context, program)
        context.require_native("machine code, which can do whatever this process can")
        delegate = _Delegate(context, program)
        processed.release()
        return delegate

    def _portable(self, context: BackendInitContext, program: NativeProgram) -> _Portable:
        """The portable program of a partition. It tells no tracer of its instructions: identifiers are of kernels."""
        try:
            handle = self._nested.init(context._replace(tracer=None), memoryview(program.fallback), [])
        except ExecutorchError as error:
            error.where = f"fallback, {error.where}" if error.where else "fallback"
            raise
        return _Portable(handle)

    def execute(self, context: BackendExecuteContext, handle: Handle, args: Sequence[object]) -> None:
        if isinstance(handle, _Portable):
            self._nested.execute(context, handle.nested, args)
            return
        assert isinstance(handle, _Delegate)
        if context.tracer is None:
            handle.execute(args)
        else:
            handle.execute_timed(args, context)

    def memory_report(self, handle: Handle) -> Mapping[str, int]:
        if isinstance(handle, _Portable):
            return self._nested.memory_report(handle.nested)
        assert isinstance(handle, _Delegate)
        kept = {"values for tracers": sum(one.nbytes for one in handle.values)} if handle.values else {}
        return {
            "arenas": handle.arena.nbytes,
            "machine code": handle.code.nbytes,
            "constants": handle.copied + sum(one.nbytes for one in handle.derived),
            **kept,
        }

    def keeps_state(self, handle: Handle) -> bool:
        return isinstance(handle, _Portable) and self._nested.keeps_state(handle.nested)

    def work_report(self, handle: Handle) -> Sequence[PartWork]:
        return handle.work_report() if isinstance(handle, _Delegate) else ()


class _Portable(NamedTuple):
    """A partition that runs as a nested program."""

    nested: Handle


class _Delegate:
    """A loaded partition, bound to the tensors of the last call."""

    def __init__(self, context: BackendInitContext, program: NativeProgram):
        self._inputs = list(program.inputs)
        self._outputs = list(program.outputs)
        self._threads = context.native.threads
        self._poison = context.poison
        chosen = _chosen(program.objects)
        number = machine()
        assert number is not None
        self.code = load_object(memoryview(chosen.code), number)
        self._reservation = context.platform.reserve(self.code.nbytes)
        self._constants: list[Array] = []
        self.copied = 0
        for place, constant in enumerate(program.constants):
            self._constants.append(
                self._constant(context, constant.key, constant.nbytes, f"constants[{place}]")
            )
        if not self.code.defines(interface_symbol(program)):
            raise InvalidFile(
                "the code is for other sizes, constants, or another arena than the tables say",
                code=Error.DelegateInvalidCompatibility,
                where="objects",
                hint="the file is damaged: compile the program again",
            )
        self._updates = [(len(program.inputs) + update.output, update.input) for update in program.updates]
        """Places of arguments that are to hold the content of another when the code runs."""
        self._copies: list[tuple[Array, Array]] = []
        """Of those that do not have its memory: target and source."""
        self._words = list(program.words)
        self._sizes = list(program.sizes)
        functions = Code(self.code)
        self.arena = _aligned(context, program.arena_size, program.arena_alignment)
        self._context = context.platform.allocate(CONTEXT_BYTES)
        self._shared = self._context.view(np.uint64)
        self._shared[YIELD_AT // 8] = function_address("sched_yield")
        self._shared[CLOCK_AT // 8] = function_address("clock_gettime")
        self._kernels = list(chosen.kernels)
        self.derived = [_aligned(context, nbytes, program.arena_alignment) for nbytes in program.derived]
        self._constants += self.derived
        self._kept = list(program.values)
        self.values = [_aligned(context, one.nbytes, program.arena_alignment) for one in program.values]
        self._shown: list[Tensor] = []
        self._work = list(program.work)
        self._report = self._context[REPORT_AT : REPORT_AT + 4].data.cast("I")
        self._messages = [one.text for one in program.messages]
        count = len(self._words) + len(self._inputs) + len(self._outputs)
        fixed = [_address(one) for one in (*self.values, *self._constants)]
        self._pointers = np.zeros(count + len(fixed) + 1, np.uint64)
        self._pointers[count:-1] = fixed
        self._pointers[-1] = _address(self.arena)
        where = _address(self._context), _address(self._pointers)
        pool = shared_pool()
        self._run = pool.prepared(functions, self.code.address(ENTRY), *where, self._threads)
        self._bound = BoundArguments()
        if self.derived:
            pool.run(functions, self.code.address(PREPARE), *where, self._threads)

    def execute(self, args: Sequence[object]) -> None:
        """Run the code on the tensors of a call. Raises ExecutorchError(InvalidArgument) for others than it is for."""
        if not self._bound.match(args):
            self._bind(args)
        if self._poison:
            for memory in (self.arena, *self.values):
                memory[:] = 0xFF
        for target, source in self._copies:
            target[...] = source
        report, messages = self._report, self._messages
        report[0] = NO_REPORT
        self._run()
        if messages and report[0] != NO_REPORT:
            self._raise_reported()

    def work_report(self) -> list[PartWork]:
        """The work of kernels: of one that is several calls, as that of the last, which those before prepare."""
        names = {kernel.identifier: kernel.name for kernel in self._kernels}
        return [
            PartWork(
                one.identifier, names[one.identifier], one.bytes_read, one.bytes_written, one.flops or None
            )
            for one in self._work
            if one.identifier in names
        ]

    def _raise_reported(self) -> None:
        """Raise the error that the code has reported."""
        number = self._report[0]
        known = number < len(self._messages)
        text = self._messages[number] if known else f"the code reports {number}, which has no message"
        raise ExecutorchError(Error.InvalidArgument, text)

    def execute_timed(self, args: Sequence[object], context: BackendExecuteContext) -> None:
        """As `execute`; tells the tracer what time each kernel took, and what it computed if that is kept."""
        # One time before the first kernel, and one after each.
        times = np.zeros(len(self._kernels) + 1, np.int64)
        start = context.platform.ticks()
        place = TIMES_AT // 8
        self._shared[place : place + 2] = _address(times), _address(times) + times.nbytes
        try:
            self.execute(args)
        finally:
            self._shared[place : place + 2] = 0
        since: list[int] = (times - times[0] + start).tolist()
        values: dict[int, list[Tensor]] = {}
        for kept, value in zip(self._kept, self._shown, strict=True):
            values.setdefault(kept.identifier, []).append(value)
        # Of a kernel that is several calls, the last one completes the results.
        last = {kernel.identifier: number for number, kernel in enumerate(self._kernels)}
        for number, (kernel, before, after) in enumerate(zip(self._kernels, since, since[1:], strict=False)):
            context.log(kernel.identifier, kernel.name, before, after)
            if last[kernel.identifier] == number:
                context.log_values(kernel.identifier, kernel.name, values.get(kernel.identifier, ()))

    def _bind(self, args: Sequence[object]) -> None:
        """Note the addresses of the tensors; they stay as long as the versions of the tensors do."""
        self._bound.release()
        tensors = [*self._inputs, *self._outputs]
        if len(args) != len(tensors):
            raise ExecutorchError(
                Error.InvalidArgument, f"the call has {len(args)} arguments, the code takes {len(tensors)}"
            )
        words = self._told(args)
        sizes = [evaluate_size(size, words) for size in self._sizes]
        self._pointers[: len(words)].view(np.int64)[:] = words
        for place, (arg, expected) in enumerate(zip(args, tensors, strict=True)):
            if expected.is_number:
                continue  # It is a word, and has no address.
            wanted = _sizes_of(expected, sizes)
            if isinstance(arg, Tensor) and place >= len(self._inputs):
                arg.resize(wanted)
            self._pointers[len(words) + place] = _checked(arg, expected, wanted, place)
        self._copies = [
            (target.array, source.array)
            for place, number in self._updates
            if isinstance(target := args[place], Tensor)
            and isinstance(source := args[number], Tensor)
            and self._pointers[len(words) + place] != self._pointers[len(words) + number]
        ]
        self._shown = [
            _value(kept, memory, sizes, f"values[{number}]")
            for number, (kept, memory) in enumerate(zip(self._kept, self.values, strict=True))
        ]
        self._bound.bind(args)

    def _told(self, args: Sequence[object]) -> list[int]:
        """The sizes of inputs that the code is told, each within its bounds."""
        found: list[int] = []
        for word in self._words:
            arg = args[word.input]
            if self._inputs[word.input].is_number:
                found.append(_number(arg, word, word.input))
                continue
            if not isinstance(arg, Tensor) or word.dim >= len(arg.sizes):
                raise ExecutorchError(
                    Error.InvalidArgument, f"argument {word.input} has no dimension {word.dim}: {arg!r}"
                )
            size = arg.sizes[word.dim]
            if not word.least <= size <= word.most:
                raise ExecutorchError(
                    Error.InvalidArgument,
                    f"argument {word.input} is {arg}; the code is for {word.least} to {word.most} "
                    f"in dimension {word.dim}",
                )
            found.append(size)
        return found

    def _constant(self, context: BackendInitContext, key: str, nbytes: int, where: str) -> Array:
        data = context.constant(key, nbytes, where)
        array = np.frombuffer(data, np.uint8)
        if _address(array) % 4 == 0:
            return array
        copy = context.platform.allocate(array.nbytes)
        copy[:] = array
        self.copied += array.nbytes
        return copy


def _fitting(objects: Sequence[NativeObject]) -> NativeObject | None:
    """The first object that this machine can run."""
    features = cpu_features()
    number = machine()
    for one in objects:
        if number == machine_of(memoryview(one.code)) and features.issuperset(one.cpu_features.split()):
            return one
    return None


def _chosen(objects: Sequence[NativeObject]) -> NativeObject:
    """The first object that this machine can run. Raises ExecutorchError(NotSupported) if there is none."""
    fitting = _fitting(objects)
    if fitting is not None:
        return fitting
    wanted = "; ".join(f"{one.instruction_set} ({one.cpu_features})" for one in objects)
    raise ExecutorchError(
        Error.NotSupported,
        f"no machine code in the file is for this machine ({host.system()} on {host.machine()}); it is for {wanted}",
        hint="compile the program for this machine, or without the native backend",
    )


def _number(arg: object, word: NativeWord, place: int) -> int:
    """An argument that is an integer, within its bounds."""
    if not isinstance(arg, int) or not word.least <= arg <= word.most:
        raise ExecutorchError(
            Error.InvalidArgument,
            f"argument {place} is {arg!r}; the code is for integers from {word.least} to {word.most}",
        )
    return arg


def _checked(arg: object, expected: NativeTensor, sizes: tuple[int, ...], place: int) -> int:
    """The address of an argument, which is as the code expects it."""
    if not isinstance(arg, Tensor) or arg.storage is None:
        raise ExecutorchError(Error.InvalidArgument, f"argument {place} is no tensor with data: {arg!r}")
    if (
        arg.scalar_type != expected.scalar_type
        or arg.sizes != sizes
        or arg.dim_order != tuple(expected.dim_order)
    ):
        raise ExecutorchError(
            Error.InvalidArgument,
            f"argument {place} is {arg}; the code is for {expected.scalar_type.name.lower()} of sizes {list(sizes)}",
        )
    address = _address(arg.storage)
    if address % min(expected.scalar_type.itemsize, 4):
        raise ExecutorchError(Error.InvalidArgument, f"argument {place} is at an odd address")
    return address


def _sizes_of(tensor: NativeTensor, computed: Sequence[int]) -> tuple[int, ...]:
    return tuple([size if size >= 0 else computed[~size] for size in tensor.sizes])


def _value(kept: NativeValue, memory: Array, computed: Sequence[int], where: str) -> Tensor:
    """A value that is kept, with the sizes that it has in a call."""
    tensor = kept.tensor
    assert tensor is not None
    sizes = _sizes_of(tensor, computed)
    check_room(kept, sizes, where)
    return Tensor(tensor.scalar_type, sizes, tuple(tensor.dim_order), storage=memory)


def _aligned(context: BackendInitContext, nbytes: int, alignment: int) -> Array:
    if alignment <= ALIGNMENT:
        return context.platform.allocate(nbytes)
    raw = context.platform.allocate(nbytes + alignment)
    start = -_address(raw) % alignment
    return raw[start : start + nbytes]


def _address(array: Array) -> int:
    place: int = array.__array_interface__["data"][0]
    return place
