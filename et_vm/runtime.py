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
from typing import BinaryIO

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

__all__ = [
    "BackendRegistry",
    "Method",
    "MethodMeta",
    "OperatorRegistry",
    "Program",
    "Runtime",
    "TensorInfo",
    "Verification",
]


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

    def __init__(self, program: CoreProgram, load: Callable[..., Method], *, poison: bool) -> None:
        """`load` is the program's `load_method` with all settings but the name and the memory."""
        self._program = program
        self._load = load
        self._poison = poison
        self._memory: MemoryManager | None = None
        self._methods: dict[str, Method] = {}
        self._lock = threading.Lock()

    @property
    def core(self) -> CoreProgram:
        """The program beneath, whose `load_method` makes a method at each call, in the memory that it is given."""
        return self._program

    @property
    def method_names(self) -> set[str]:
        """Names of the methods."""
        return set(self._program.method_names)

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
        return Program(self._program, self._load, poison=self._poison)

    def metadata(self, method_name: str) -> MethodMeta:
        """Inputs, outputs and memory of a method. Raises ExecutorchError(InvalidArgument) for an unknown
        name.
        """
        return self._program.method_meta(method_name)

    def has_etdump(self) -> bool:
        """Whether `write_etdump_result_to_file` has something to write: never, see there."""
        return False

    def write_etdump_result_to_file(self, etdump_path: str, debug_buffer_path: str) -> None:
        """Raises ExecutorchError(NotImplemented): what an ETDump would hold goes to the `tracer` of
        `Runtime.load_program`.
        """
        del etdump_path, debug_buffer_path
        raise _no_etdump()


def _no_etdump() -> ExecutorchError:
    return ExecutorchError(
        Error.NotImplemented, "ETDump files are not written", hint="pass tracer= an EventTracer"
    )


class Runtime:
    """Kernels and backends, and the programs that run with them. `get` is the one most programs
    need.
    """

    _instance: Runtime | None = None
    _instance_lock = threading.Lock()

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

    @classmethod
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

    def add_kernels(self, kernels: KernelLibrary) -> None:
        """Add kernels of one's own to the libraries of this runtime, for the methods that are loaded from now on:
        `runtime.add_kernels(et_vm.load_kernels("mykernels.py"))`.

        Raises ExecutorchError(RegistrationAlreadyRegistered) for an operator that has a kernel.
        """
        with self._lock:
            for registry in self._libraries.values():
                kernels(registry)
            self._added.append(kernels)

    def load_program(
        self,
        data: bytes | bytearray | memoryview | BinaryIO | str | os.PathLike[str],
        *,
        verification: Verification = Verification.InternalConsistency,
        enable_etdump: bool = False,
        debug_buffer_size: int = 0,
        data_path: str | os.PathLike[str] | None = None,
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
        `data_path`, or in `external`, by name. An execution traps after `instruction_limit` instructions.
        `allow_native` lets machine code in the file run, which can do whatever the process can: only for files from
        a source that is trusted. `debug_buffer_size` has no effect without `enable_etdump`.

        Raises TypeError, also for `data_path` beside `external`; InvalidFile; ExecutorchError with AccessFailed
        for a file that cannot be read, NotImplemented for `enable_etdump` (pass a `tracer` instead), and those of
        `kernels`.
        """
        if enable_etdump:
            raise _no_etdump()
        del debug_buffer_size
        if data_path is not None:
            if external is not None:
                raise TypeError("give external tensors by data_path or by external, not both")
            external = DataFiles.load(data_path)
        if isinstance(data, (bytes, bytearray, memoryview, str, os.PathLike)):
            core = CoreProgram.load(data, verification, platform=self._platform)
        elif not hasattr(data, "read"):
            raise TypeError(f"a program is a path, bytes or a readable file, not {type(data).__name__}")
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
        return Program(core, load, poison=poison)
