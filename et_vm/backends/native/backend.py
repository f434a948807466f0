"""Runs machine code of the compiler's native backend: maps it, gives it the addresses of tensors, and calls it.

Machine code in a file can do whatever the process can, so it runs only where the user allows it.
"""

from __future__ import annotations

import ctypes
import platform as host
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from et_schema.errors import Error, ExecutorchError, InvalidFile
from et_schema.native import (
    ENTRY,
    NO_REPORT,
    REPORT_AT,
    NativeObject,
    NativeProgram,
    NativeTensor,
    read_native,
)
from et_vm.backend import Backend, BackendExecuteContext, BackendInitContext, Handle
from et_vm.backends.native.cpu import cpu_features, machine
from et_vm.backends.native.elf import load_object, machine_of
from et_vm.backends.native.threads import shared_pool
from et_vm.platform import ALIGNMENT
from et_vm.values import Array, Tensor

if TYPE_CHECKING:
    from et_schema.program import CompileSpec

__all__ = ["NativeBackend"]

CONTEXT_BYTES = 256
YIELD_AT = 128
"""Where the context of a call has the address of `sched_yield`."""

_ENTRY_TYPE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


class NativeBackend(Backend):
    """Loads and calls machine code."""

    def init(
        self, context: BackendInitContext, processed: memoryview, compile_specs: Sequence[CompileSpec]
    ) -> Handle:
        del compile_specs
        program = read_native(processed)
        if not context.native.allowed:
            raise ExecutorchError(
                Error.NotSupported,
                "the file holds machine code, which can do whatever this process can",
                hint="if you trust its source, allow it: et-vm run --native, or load_program(…, allow_native=True)",
            )
        delegate = _Delegate(context, program)
        processed.release()
        return delegate

    def execute(self, context: BackendExecuteContext, handle: Handle, args: Sequence[object]) -> None:
        del context
        assert isinstance(handle, _Delegate)
        handle.execute(args)

    def memory_report(self, handle: Handle) -> Mapping[str, int]:
        assert isinstance(handle, _Delegate)
        return {"arenas": handle.arena.nbytes, "machine code": handle.code.nbytes, "constants": handle.copied}


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
        self._entry = _ENTRY_TYPE(self.code.address(ENTRY))
        self.arena = _aligned(context, program.arena_size, program.arena_alignment)
        self._context = context.platform.allocate(CONTEXT_BYTES)
        libc = ctypes.CDLL(None)
        address = ctypes.cast(libc.sched_yield, ctypes.c_void_p).value
        assert address is not None
        self._context[YIELD_AT : YIELD_AT + 8].view(np.uint64)[0] = address
        self._report = self._context[REPORT_AT : REPORT_AT + 4].view(np.uint32)
        self._messages = [one.text for one in program.messages]
        self._constants: list[Array] = []
        self.copied = 0
        for place, constant in enumerate(program.constants):
            self._constants.append(
                self._constant(context, constant.key, constant.nbytes, f"constants[{place}]")
            )
        count = len(self._inputs) + len(self._outputs)
        self._pointers = np.zeros(count + len(self._constants) + 1, np.uint64)
        self._pointers[count:-1] = [_address(one) for one in self._constants]
        self._pointers[-1] = _address(self.arena)
        self._where = _address(self._pointers), _address(self._context)
        self._bound: tuple[int, ...] = ()

    def execute(self, args: Sequence[object]) -> None:
        """Run the code on the tensors of a call. Raises ExecutorchError(InvalidArgument) for others than it is for."""
        if _versions(args) != self._bound:
            self._bind(args)
        if self._poison:
            self.arena[:] = 0xFF
        self._report[0] = NO_REPORT
        pointers, context = self._where
        if self._threads > 1:
            shared_pool().run(self._entry, context, pointers, self._threads)
        else:
            self._entry(context, pointers, 0, 1)
        if self._messages:
            self._check_report()

    def _check_report(self) -> None:
        """Raise the error that the code has reported, if there is one."""
        number = int(self._report[0])
        if number != NO_REPORT:
            known = number < len(self._messages)
            text = self._messages[number] if known else f"the code reports {number}, which has no message"
            raise ExecutorchError(Error.InvalidArgument, text)

    def _bind(self, args: Sequence[object]) -> None:
        """Note the addresses of the tensors; they stay as long as the versions of the tensors do."""
        self._bound = ()
        tensors = [*self._inputs, *self._outputs]
        if len(args) != len(tensors):
            raise ExecutorchError(
                Error.InvalidArgument, f"the call has {len(args)} arguments, the code takes {len(tensors)}"
            )
        for place, (arg, expected) in enumerate(zip(args, tensors, strict=True)):
            if isinstance(arg, Tensor) and place >= len(self._inputs):
                arg.resize(expected.sizes)
            self._pointers[place] = _checked(arg, expected, place)
        self._bound = _versions(args)

    def _constant(self, context: BackendInitContext, key: str, nbytes: int, where: str) -> Array:
        data = context.named_data.get(key)
        if data is None or data.nbytes < nbytes:
            raise InvalidFile(
                f"the program has no data named {key!r} of {nbytes} bytes",
                code=Error.DelegateInvalidCompatibility,
                where=where,
                hint="if it is in a data file, pass the file (et-vm run --data FILE.ptd)",
            )
        array = np.frombuffer(data, np.uint8)
        if _address(array) % 4 == 0:
            return array
        copy = context.platform.allocate(array.nbytes)
        copy[:] = array
        self.copied += array.nbytes
        return copy


def _chosen(objects: Sequence[NativeObject]) -> NativeObject:
    """The first object that this machine can run."""
    features = cpu_features()
    number = machine()
    for one in objects:
        if number == machine_of(memoryview(one.code)) and features.issuperset(one.cpu_features.split()):
            return one
    wanted = "; ".join(f"{one.instruction_set} ({one.cpu_features})" for one in objects)
    raise ExecutorchError(
        Error.NotSupported,
        f"no machine code in the file is for this machine ({host.system()} on {host.machine()}); it is for {wanted}",
        hint="compile the program for this machine, or without the native backend",
    )


def _checked(arg: object, expected: NativeTensor, place: int) -> int:
    """The address of an argument, which is as the code expects it."""
    if not isinstance(arg, Tensor) or arg.storage is None:
        raise ExecutorchError(Error.InvalidArgument, f"argument {place} is no tensor with data: {arg!r}")
    if (
        arg.scalar_type != expected.scalar_type
        or arg.sizes != tuple(expected.sizes)
        or arg.dim_order != tuple(expected.dim_order)
    ):
        sizes = list(expected.sizes)
        raise ExecutorchError(
            Error.InvalidArgument,
            f"argument {place} is {arg}; the code is for {expected.scalar_type.name.lower()} of sizes {sizes}",
        )
    address = _address(arg.storage)
    if address % min(expected.scalar_type.itemsize, 4):
        raise ExecutorchError(Error.InvalidArgument, f"argument {place} is at an odd address")
    return address


def _aligned(context: BackendInitContext, nbytes: int, alignment: int) -> Array:
    if alignment <= ALIGNMENT:
        return context.platform.allocate(nbytes)
    raw = context.platform.allocate(nbytes + alignment)
    start = -_address(raw) % alignment
    return raw[start : start + nbytes]


def _address(array: Array) -> int:
    place: int = array.__array_interface__["data"][0]
    return place


def _versions(args: Sequence[object]) -> tuple[int, ...]:
    return tuple([arg.version if isinstance(arg, Tensor) else 0 for arg in args])
