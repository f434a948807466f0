"""Shared library of the C runtime, for testing builds on the host.

It allocates memory in this process, and reports instructions to a tracer, so that executions can be recorded as ETDump
files, as with `et_vm`.
"""

from __future__ import annotations

import ctypes
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, cast

import numpy as np

from et_schema.errors import Error, ExecutorchError
from et_schema.program import InstructionArguments, KernelTypes
from et_schema.scalar_type import ScalarType, numpy_dtype
from et_vm.load.opcodes import BY_TABLE
from et_vm.micro.compilers import FLAGS, compiler_of
from et_vm.tracer import EventTracer

__all__ = ["HostLibrary", "HostMethod", "compile_library"]

_KINDS: Final[tuple[str, ...]] = ("", *(member.__name__ for member in KernelTypes.__args__))
_MNEMONICS: Final[tuple[str, ...]] = (
    "",
    *(BY_TABLE[member.__name__].mnemonic for member in InstructionArguments.__args__),
)
ALIGNMENT: Final = 64

_ALLOCATE = ctypes.CFUNCTYPE(
    ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_size_t, ctypes.c_size_t
)
_TICKS = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p)
_LOG = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint32)
_PANIC = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Event(ctypes.Structure):
    _fields_ = (
        ("start", ctypes.c_uint64),
        ("end", ctypes.c_uint64),
        ("name", ctypes.c_void_p),
        ("overload", ctypes.c_void_p),
        ("name_length", ctypes.c_uint32),
        ("overload_length", ctypes.c_uint32),
        ("index", ctypes.c_uint32),
        ("opcode", ctypes.c_uint8),
    )


_ON_INSTRUCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(_Event))
_LOAD = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_size_t)


class _Platform(ctypes.Structure):
    _fields_ = (
        ("user", ctypes.c_void_p),
        ("allocate", _ALLOCATE),
        ("ticks", _TICKS),
        ("log", _LOG),
        ("panic", _PANIC),
        ("on_instruction", _ON_INSTRUCTION),
    )


class _Loader(ctypes.Structure):
    _fields_ = (("user", ctypes.c_void_p), ("size", ctypes.c_uint64), ("load", _LOAD))


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("sizes", ctypes.POINTER(ctypes.c_int32)),
        ("dim_order", ctypes.POINTER(ctypes.c_uint8)),
        ("capacity", ctypes.c_size_t),
        ("type", ctypes.c_uint8),
        ("rank", ctypes.c_uint8),
        ("constant", ctypes.c_bool),
        ("dynamic", ctypes.c_bool),
    )


class _Held(ctypes.Union):
    _fields_ = (
        ("integer", ctypes.c_int64),
        ("real", ctypes.c_double),
        ("boolean", ctypes.c_bool),
        ("tensor", ctypes.POINTER(_Tensor)),
        ("items", ctypes.c_void_p),
    )


class _Value(ctypes.Structure):
    _fields_ = (("held", _Held), ("count", ctypes.c_uint32), ("kind", ctypes.c_uint8))


class _Program(ctypes.Structure):
    _fields_ = (
        ("platform", ctypes.c_void_p),
        ("loader", _Loader),
        ("file", ctypes.c_void_p),
        ("end", ctypes.c_uint32),
        ("base", ctypes.c_uint64),
        ("root", ctypes.c_uint32),
    )


class _Method(ctypes.Structure):
    _fields_ = (
        ("program", ctypes.c_void_p),
        ("plan", ctypes.c_uint32),
        ("values", ctypes.c_void_p),
        ("tensors", ctypes.c_void_p),
        ("kernels", ctypes.c_void_p),
        ("count", ctypes.c_uint32),
        ("limit", ctypes.c_uint32),
        ("executed", ctypes.c_uint32),
        ("failed", ctypes.c_uint32),
        ("changed", ctypes.c_bool),
    )


def compile_library(folder: Path, sources: Sequence[str], *, checked: bool = False) -> Path:
    """Compile the sources in `folder` for this machine; the library. `checked` ones end the process at undefined
    behaviour. Raises ExecutorchError where there is no compiler, or it fails.
    """
    command = compiler_of("host", None)
    if command is None:
        raise ExecutorchError(Error.NotFound, "no C compiler", hint="pip install ziglang")
    flags = ["-O1", "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error"] if checked else []
    path = folder / "libet_micro.so"
    done = subprocess.run(
        [*command, *FLAGS, *flags, "-fPIC", "-shared", *sources, "-o", path.name],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise ExecutorchError(Error.Internal, f"the compiler failed: {done.stderr.strip()}")
    return path


class HostLibrary:
    """A compiled runtime. `place` puts a file in memory and `allocate` takes some: tests put pages around both."""

    def __init__(
        self,
        path: Path,
        *,
        place: Callable[[bytes], Any] | None = None,
        allocate: Callable[[int], Any] | None = None,
    ) -> None:
        self._library = ctypes.CDLL(str(path))
        for name in ("et_program_load", "et_method_load", "et_method_set_input", "et_method_execute"):
            getattr(self._library, name).restype = ctypes.c_int
        for name in ("et_method_input", "et_method_output"):
            getattr(self._library, name).restype = ctypes.POINTER(_Value)
        self._library.et_program_methods.restype = ctypes.c_uint32
        self._library.et_program_method_name.restype = ctypes.c_void_p
        self._library.et_method_inputs.restype = ctypes.c_uint32
        self._library.et_method_outputs.restype = ctypes.c_uint32
        self._place = place or _aligned
        self._allocate: Callable[[int], Any] = allocate or _zeros

    def load(self, content: bytes, *, memory_limit: int | None = None) -> HostProgram:
        """Check a file. Raises ExecutorchError with the code that the runtime gives."""
        return HostProgram(self._library, self._place(content), self._allocate, memory_limit)


def _now(user: object) -> int:
    del user
    return time.perf_counter_ns()


def _zeros(nbytes: int) -> Any:
    return _aligned(bytes(nbytes))


def _aligned(content: bytes) -> Any:
    raw = np.empty(len(content) + ALIGNMENT, np.uint8)
    skip = -raw.ctypes.data % ALIGNMENT
    view = raw[skip : skip + len(content)]
    view[:] = np.frombuffer(content, np.uint8)
    return view


class HostProgram:
    """A verified program, and the state shared by its methods."""

    def __init__(
        self, library: Any, file: Any, allocate: Callable[[int], Any], memory_limit: int | None
    ) -> None:
        self.library = library
        self.tracer: EventTracer | None = None
        self.names: list[str] = []
        self._file = file
        self._kept: list[Any] = []
        self._left = memory_limit
        self._message = ""
        self._executing = ""
        self._take = allocate
        self._platform = _Platform(
            None,
            _ALLOCATE(self._allocated),
            _TICKS(_now),
            _LOG(self._logged),
            _PANIC(),
            _ON_INSTRUCTION(),
        )
        self._loader = _Loader(None, len(file), _LOAD(self._loaded))
        self.program = _Program()
        code = library.et_program_load(
            ctypes.byref(self.program), ctypes.byref(self._loader), ctypes.byref(self._platform)
        )
        self.check(code)
        length = ctypes.c_size_t()
        for index in range(library.et_program_methods(ctypes.byref(self.program))):
            name = library.et_program_method_name(ctypes.byref(self.program), index, ctypes.byref(length))
            self.names.append(ctypes.string_at(name, length.value).decode("utf-8", "replace"))

    def _loaded(self, user: object, offset: int, size: int) -> int:
        del user
        return int(self._file.ctypes.data) + offset if offset + size <= len(self._file) else 0

    def _allocated(self, user: object, bank: int, size: int, alignment: int) -> int:
        del user, bank, alignment
        if self._left is not None:
            if size > self._left:
                return 0
            self._left -= size
        memory = self._take(max(size, 1))
        self._kept.append(memory)
        return int(memory.ctypes.data)

    def _logged(self, user: object, error: int, what: bytes, index: int) -> None:
        del user, error
        if not self._message:
            self._message = f"{what.decode()} ({index})"

    def check(self, code: int) -> None:
        """Raise ExecutorchError for an error code."""
        message, self._message = self._message, ""
        if code:
            raise ExecutorchError(Error(code), message or Error(code).name)

    def trace(self, tracer: EventTracer | None) -> None:
        """Report the instructions of further executions to a tracer."""
        self.tracer = tracer
        self._platform.on_instruction = _ON_INSTRUCTION() if tracer is None else _ON_INSTRUCTION(self._ran)

    def _ran(self, user: object, pointer: Any) -> None:
        del user
        event = pointer[0]
        if self.tracer is not None:
            name = ctypes.string_at(event.name, event.name_length).decode()
            if event.overload_length:
                name += f".{ctypes.string_at(event.overload, event.overload_length).decode()}"
            opcode = _MNEMONICS[int(event.opcode)]
            self.tracer.on_instruction(self._executing, event.index, opcode, name, event.start, event.end)

    def load_method(self, name: str = "forward", *, instruction_limit: int | None = None) -> HostMethod:
        """Load a method. Raises ExecutorchError with the code that the runtime gives."""
        if name not in self.names:
            raise ExecutorchError(Error.InvalidArgument, f"no method named {name!r}")
        return HostMethod(self, name, instruction_limit)

    def execution(self, name: str) -> None:
        """Note whose instructions are reported next."""
        self._executing = name


class HostMethod:
    """A loaded method."""

    def __init__(self, program: HostProgram, name: str, instruction_limit: int | None) -> None:
        self._program = program
        self._library = program.library
        self._method = _Method()
        self.name = name
        index = program.names.index(name)
        program.check(
            self._library.et_method_load(ctypes.byref(self._method), ctypes.byref(program.program), index)
        )
        if instruction_limit is not None:
            self._method.limit = instruction_limit

    def execute(self, inputs: Sequence[object]) -> list[Any]:
        """The outputs, tensors as arrays. Inputs that are no tensors have to be as the program has them.

        Raises ExecutorchError with the code that the runtime gives.
        """
        method, library, program = ctypes.byref(self._method), self._library, self._program
        for index, value in enumerate(inputs):
            if isinstance(value, np.ndarray):
                program.check(self._set(index, cast("np.ndarray[Any, Any]", value)))
        program.execution(self.name)
        started = time.perf_counter_ns()
        program.check(library.et_method_execute(method))
        if program.tracer is not None:
            program.tracer.on_execute(self.name, started, time.perf_counter_ns())
        return [
            _value(library.et_method_output(method, at)[0]) for at in range(library.et_method_outputs(method))
        ]

    def _set(self, index: int, array: np.ndarray[Any, Any]) -> int:
        held = self._library.et_method_input(ctypes.byref(self._method), index)
        order = list(range(array.ndim))
        if held and _KINDS[held[0].kind] == "Tensor":
            tensor = held[0].held.tensor[0]
            if tensor.rank != array.ndim or numpy_dtype(ScalarType(tensor.type)) != array.dtype:
                return Error.InvalidArgument
            order = [tensor.dim_order[at] for at in range(tensor.rank)]
        stored = np.ascontiguousarray(array.transpose(order))
        sizes = (ctypes.c_int32 * array.ndim)(*array.shape)
        data, nbytes = stored.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(stored.nbytes)
        return self._library.et_method_set_input(ctypes.byref(self._method), index, data, nbytes, sizes)


def _value(value: Any) -> Any:
    kind = _KINDS[value.kind]
    if kind == "Int":
        return value.held.integer
    if kind == "Double":
        return value.held.real
    if kind == "Bool":
        return value.held.boolean
    if kind != "Tensor":
        return None
    tensor = value.held.tensor[0]
    if not tensor.data:
        return None
    dtype = numpy_dtype(ScalarType(tensor.type))
    order = [tensor.dim_order[at] for at in range(tensor.rank)]
    stored = [tensor.sizes[dim] for dim in order]
    count = int(np.prod(stored, dtype=np.int64))
    flat = np.frombuffer(ctypes.string_at(tensor.data, count * dtype.itemsize), dtype)
    return flat.reshape(stored).transpose(np.argsort(order)) if order else flat.reshape(())
