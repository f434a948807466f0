"""The runtime under the names of `executorch.runtime`: changing the import is the migration.

from et_vm.runtime import Runtime

program = Runtime.get().load_program("model.pte")
outputs = program.load_method("forward").execute([x])
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from io import TextIOBase
from typing import TYPE_CHECKING, BinaryIO, Final, Never

from et_schema.call_errors import called_as
from et_schema.diagnostics import did_you_mean
from et_schema.errors import Error, ExecutorchError
from et_vm.backend import BackendRegistry, NativeOptions, number_of_threads, threads_of_environment
from et_vm.kernels.libraries import load_library
from et_vm.kernels.prims import PRIMS
from et_vm.kernels.registry import KernelLibrary, KernelRegistry
from et_vm.load.data_files import DataFiles
from et_vm.load.loader import BytesDataLoader
from et_vm.meta import MethodMeta, TensorInfo
from et_vm.platform import Platform
from et_vm.program import Program as CoreProgram
from et_vm.program import Verification
from et_vm.run.interpreter import MAX_INSTRUCTIONS
from et_vm.run.memory import MemoryManager
from et_vm.run.method import Method
from et_vm.tracer import EventTracer

if TYPE_CHECKING:
    from et_vm.devtools.etdump import ETDumpTracer
    from et_vm.run.requests import Executor, Request

__all__ = [
    "BackendRegistry",
    "Executor",
    "Method",
    "MethodMeta",
    "OperatorRegistry",
    "Program",
    "Request",
    "Runtime",
    "TensorInfo",
    "Verification",
]

_LOAD_PROGRAM: Final = "Runtime.get().load_program('model.pte')"
"""The way to a program, for messages."""


def __getattr__(name: str) -> object:
    if name in ("Executor", "Request"):
        # Imported when it is asked for because starting is part of the time that a run takes.
        from et_vm.run import requests

        return getattr(requests, name)
    from et_schema.executorch_names import missing_name

    raise missing_name(__name__, name, __all__)


class OperatorRegistry:
    """The operators that a runtime's portable library and the VM itself implement."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    @property
    def operator_names(self) -> set[str]:
        """Names such as `aten::add.out`."""
        return {*self._runtime.kernels("portable").names(), *PRIMS}


class Program:
    """A loaded program with its methods, each of which is loaded once.

    They have one `et_vm.MemoryManager`, as upstream's do: they share arenas, each as large as the largest method
    needs, and mutable buffers that the file places in the same bytes, and must not execute at the same time.
    `core.load_method` is for methods with memory of their own.
    """

    @called_as(f"made by {_LOAD_PROGRAM}")
    def __init__(
        self,
        program: CoreProgram,
        load: Callable[..., Method],
        *,
        poison: bool,
        debug_buffer_size: int | None = None,
    ) -> None:
        """`load` is the program's `load_method` with all settings but the name and the memory. With
        `debug_buffer_size`, 0 for no values, executions are recorded.
        """
        self._program = program
        self._debug_buffer_size = debug_buffer_size
        self._etdump: ETDumpTracer | None = None
        if debug_buffer_size is not None:
            from et_vm.devtools.etdump import ETDumpTracer

            self._etdump = ETDumpTracer(program, debug_buffer_size)
            load = partial(load, tracer=self._etdump)
        self._load = load
        self._poison = poison
        self._memory: MemoryManager | None = None
        self._methods: dict[str, Method] = {}
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return repr(self._program)

    if not TYPE_CHECKING:  # for checkers, other attributes are errors

        def __getattr__(self, name: str) -> Never:
            """Say where what is looked for is, if it is a method of the program, or of such a method."""
            way = ""
            if name in self.method_names:
                way = f": it is a method, load_method('{name}').execute([…])"
            elif not name.startswith("_") and hasattr(Method, name):
                way = f": it is of the methods, load_method('{next(iter(self.method_names), 'forward')}').{name}"
            elif not name.startswith("_"):
                way = did_you_mean(name, [one for one in dir(type(self)) if not one.startswith("_")])
            raise AttributeError(f"'Program' object has no attribute '{name}'{way}")

    def _repr_html_(self) -> str:
        """A table of the methods, for notebooks."""
        return self._program.html()

    @property
    def core(self) -> CoreProgram:
        """The program beneath, whose `load_method` makes a method at each call, in the memory that it is given."""
        return self._program

    @property
    def method_names(self) -> set[str]:
        """Names of the methods."""
        return set(self._program.method_names)

    @called_as(f"called as {_LOAD_PROGRAM}.load_method('forward')")
    def load_method(self, name: str) -> Method:
        """The method, loaded on the first call.

        Raises KeyError for an unknown name, and what `et_vm.run.method.Method` raises.
        """
        if name not in self.method_names:
            names = self._program.method_names
            raise KeyError(f"no method '{name}'; there are: {', '.join(names)}{did_you_mean(name, names)}")
        with self._lock:
            if name not in self._methods:
                if self._memory is None:
                    self._memory = self._program.new_memory(poison=self._poison)
                self._methods[name] = self._load(name, memory=self._memory)
            return self._methods[name]

    def instance(self) -> Program:
        """The same program with arenas and state of its own: instances share weights, and may run at the same time."""
        return Program(
            self._program, self._load, poison=self._poison, debug_buffer_size=self._debug_buffer_size
        )

    @called_as(f"called as {_LOAD_PROGRAM}.metadata('forward')")
    def metadata(self, method_name: str) -> MethodMeta:
        """Inputs, outputs and memory of a method. Raises ExecutorchError(InvalidArgument) for an unknown
        name.
        """
        return self._program.method_meta(method_name)

    def has_etdump(self) -> bool:
        """Whether `write_etdump_result_to_file` has something to write."""
        return self._etdump is not None and bool(self._etdump.dump.run_data)

    def write_etdump_result_to_file(self, etdump_path: str, debug_buffer_path: str) -> None:
        """Write what was recorded since the program was loaded, and its values if there is a debug buffer.

        Raises ExecutorchError: InvalidState for a program that was loaded without `enable_etdump`, OutOfResources
        with the size that the debug buffer needs, AccessFailed for a path that cannot be written.
        """
        if self._etdump is None:
            raise ExecutorchError(
                Error.InvalidState, "nothing is recorded", hint="load the program with enable_etdump=True"
            )
        self._etdump.write(etdump_path, debug_buffer_path)


class Runtime:
    """Kernels and backends, and the programs that run with them. `get` is the one most programs
    need.
    """

    _instance: Runtime | None = None
    _instance_lock = threading.Lock()

    @called_as(f"called as Runtime(), and {_LOAD_PROGRAM} loads a program")
    def __init__(
        self,
        *,
        backends: BackendRegistry | None = None,
        platform: Platform | None = None,
        kernels: Iterable[KernelLibrary] = (),
        threads: int | None = None,
    ) -> None:
        """A runtime apart from the process's own, with its own backends, and `kernels` beside those that come with
        it (`et_vm.load_kernels`). `threads` share the work of machine code: by default the environment variable
        `ET_VM_THREADS` says how many, or one does all.
        """
        self.backend_registry = BackendRegistry.standard() if backends is None else backends
        self.operator_registry = OperatorRegistry(self)
        self._platform = platform or Platform()
        self._libraries: dict[str, KernelRegistry] = {}
        self._added = list(kernels)
        self._threads = threads_of_environment() if threads is None else number_of_threads(threads)
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"<Runtime: {', '.join(self.backend_registry.registered_backend_names) or 'no backends'}>"

    @classmethod
    @called_as(f"called as Runtime.get(), and {_LOAD_PROGRAM} loads a program")
    def get(cls) -> Runtime:
        """The runtime of the process."""
        with cls._instance_lock:
            if cls._instance is None:
                cls._instance = cls()
            return cls._instance

    def kernels(self, library: str) -> KernelRegistry:
        """The registry of a kernel library, `portable` or `aten`; one per runtime.

        Raises ExecutorchError: NotFound for another name, NotSupported when what it builds on is not
        installed.
        """
        with self._lock:
            registry = self._libraries.get(library)
            if registry is None:
                registry = self._libraries[library] = load_library(library, self._added)
            return registry

    @called_as("called as Runtime.get().add_kernels(et_vm.load_kernels('kernels.py'))")
    def add_kernels(self, kernels: KernelLibrary) -> None:
        """Add custom kernels to the libraries of this runtime, for the methods that are loaded from now on:
        `runtime.add_kernels(et_vm.load_kernels("mykernels.py"))`.

        Raises ExecutorchError(RegistrationAlreadyRegistered) for an operator that has a kernel.
        """
        with self._lock:
            for registry in self._libraries.values():
                kernels(registry)
            self._added.append(kernels)

    @called_as("called as Runtime.get().executor(threads=2)")
    def executor(self, *, threads: int = 1, in_flight: int | None = None, ordered: bool = False) -> Executor:
        """What executes requests of methods, up to `threads` of them at once, each in arenas of its own: a context
        manager with `submit(method, inputs)`. At most `in_flight` requests wait, execute, or have a result whose turn
        has not come; as many as there are threads unless given. With `ordered`, requests are done in the order in which
        they were made. `threads` of a runtime are those of one execution.

        Raises ExecutorchError(InvalidArgument) for numbers below 1, and for too many threads.
        """
        # Imported here because starting is part of the time that a run takes.
        from et_vm.run.requests import Executor

        return Executor(threads, in_flight, ordered=ordered)

    @called_as(f"called as {_LOAD_PROGRAM}")
    def load_program(
        self,
        data: bytes | bytearray | memoryview | BinaryIO | str | os.PathLike[str],
        *,
        verification: Verification = Verification.InternalConsistency,
        enable_etdump: bool = False,
        debug_buffer_size: int = 0,
        data_path: str | os.PathLike[str] | None = None,
        any_data: bool = False,
        kernels: str | KernelRegistry = "portable",
        poison: bool = False,
        tracer: EventTracer | None = None,
        external: Mapping[str, memoryview] | None = None,
        instruction_limit: int = MAX_INSTRUCTIONS,
        allow_native: bool = False,
    ) -> Program:
        """Load a file (a path is mapped, a file object is read) and verify it.

        `kernels` is `portable` (numpy), `aten` (torch) or a registry. `poison` overwrites dead
        memory while methods run. The data of tensors outside of the file is in the data file (`.ptd`) at
        `data_path`, or in `external`, by name. One that was written with another program is refused, unless `any_data`:
        `et_schema.digests`. An execution traps after `instruction_limit` instructions.
        `allow_native` lets machine code in the file run, which can do whatever the process can: only for files from
        a source that is trusted. `enable_etdump` records executions for `Program.write_etdump_result_to_file`, with the
        values that they compute in a buffer of `debug_buffer_size` bytes; a `tracer` gets events as they happen.

        Raises TypeError, also for `data_path` beside `external` and for `tracer` beside `enable_etdump`; InvalidFile;
        ExecutorchError with AccessFailed for a file that cannot be read, InvalidArgument for a negative size, and those
        of `kernels`.
        """
        if not isinstance(verification, int):  # pyright: ignore[reportUnnecessaryIsInstance]
            names = ", ".join(f"Verification.{one.name}" for one in Verification)
            raise TypeError(f"verification: one of {names} is expected, not {verification!r}")
        if enable_etdump and tracer is not None:
            raise TypeError("give enable_etdump or a tracer, not both")
        if debug_buffer_size < 0:
            raise ExecutorchError(Error.InvalidArgument, f"a debug buffer of {debug_buffer_size} bytes")
        if data_path is not None:
            if external is not None:
                raise TypeError("give external tensors by data_path or by external, not both")
            external = DataFiles.load(data_path, any_data=any_data)
        if isinstance(data, TextIOBase):
            raise TypeError("the file is open as text: open it with mode 'rb'")
        if isinstance(data, (bytes, bytearray, memoryview, str, os.PathLike)):
            core = CoreProgram.load(data, verification, platform=self._platform)
        elif not hasattr(data, "read"):
            way = ""
            if isinstance(getattr(data, "buffer", None), bytes):
                way = "; give its .buffer"
            elif callable(data) or hasattr(data, "graph_module"):
                way = "; compile it first: et_ir.to_edge(torch.export.export(module, args)).to_executorch().buffer"
            raise TypeError(f"a program is a path, bytes or a readable file, not {type(data).__name__}{way}")
        else:
            loader = BytesDataLoader(data.read(), getattr(data, "name", "<file>"))
            core = CoreProgram(loader, verification, platform=self._platform)
        load = partial(
            core.load_method,
            kernels=self.kernels(kernels) if isinstance(kernels, str) else kernels,
            backends=self.backend_registry,
            tracer=tracer,
            poison=poison,
            external=external,
            instruction_limit=instruction_limit,
            native=NativeOptions(allow_native, self._threads),
        )
        return Program(
            core, load, poison=poison, debug_buffer_size=debug_buffer_size if enable_etdump else None
        )
