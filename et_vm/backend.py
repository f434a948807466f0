"""Delegates at run time: what a backend implements, and the registry it is found in."""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, TypeVar

from et_schema.backend_packages import backend_packages, load_part
from et_schema.errors import Error, ExecutorchError, InvalidFile
from et_schema.user_code import raised
from et_schema.whole_numbers import shortened, whole_number
from et_schema.wording import data_file, worded

if TYPE_CHECKING:
    from et_schema.program import CompileSpec
    from et_vm.kernels.registry import KernelRegistry
    from et_vm.platform import Platform
    from et_vm.tracer import EventTracer
    from et_vm.work import WorkMeter

Handle: TypeAlias = object
OptionValue: TypeAlias = bool | int | str
_Result = TypeVar("_Result")

MAX_THREADS: Final = 256
MAX_OPTION_KEY = 64
MAX_OPTION_VALUE = 256


class NativeOptions(NamedTuple):
    """How machine code in a file is run."""

    allowed: bool = False
    """Whether it may run at all: it can do whatever the process can."""
    threads: int = 1
    """Threads that share the work of one execution."""


def threads_of_environment() -> int:
    """The number of threads that the environment variable `ET_VM_THREADS` gives, else 1.

    Raises ExecutorchError(InvalidArgument) for what is no number of threads.
    """
    text = os.environ.get("ET_VM_THREADS", "1")
    return number_of_threads(whole_number(text) or 0, f"ET_VM_THREADS={shortened(text)}")


def number_of_threads(threads: int, given: str = "") -> int:
    """`threads`, if there may be so many. Raises ExecutorchError(InvalidArgument), which shows what was `given`."""
    if 1 <= threads <= MAX_THREADS:
        return threads
    given = given or f"threads={threads}"
    raise ExecutorchError(Error.InvalidArgument, f"{given}: a number from 1 to {MAX_THREADS} is required")


class NativeRefused(ExecutorchError):
    """A delegate is run outside of et-vm's checks, by a processor or a driver, and the caller has not allowed that."""

    def __init__(self, content: str) -> None:
        super().__init__(
            Error.NotSupported,
            f"the file holds {content}",
            hint="if you trust its source, allow it: "
            + worded(python="load_program(…, allow_native=True)", command="--native"),
        )
        self.args = (content,)


class BackendInitContext(NamedTuple):
    """Context of a delegate's initialization."""

    platform: Platform
    """Clock, log and memory."""
    tracer: EventTracer | None
    """The receiver of events, if any."""
    method_name: str
    """The method that calls the delegate."""
    named_data: Mapping[str, memoryview]
    """Data by name: of the program, and of the data files given with it."""
    kernels: KernelRegistry | None = None
    """The kernels that the method runs with."""
    poison: bool = False
    """Whether dead memory is to be overwritten while the method runs."""
    arguments: Sequence[object] = ()
    """The arguments of the first call in the program, as far as known at load: tensors may get other sizes or other
    memory before it is executed, and further calls pass others. Empty where nothing calls the delegate."""
    meter: WorkMeter | None = None
    """Counts the work of the executions that the delegate is a part of, if it is limited: what `Backend.execute`
    tells it (`meter.spend`) before it is done."""
    native: NativeOptions = NativeOptions()
    """For backends whose blobs hold machine code."""

    def require_native(self, content: str) -> None:
        """Raise NativeRefused, an ExecutorchError(NotSupported), unless machine code may run: the one gate of all
        backends that do not interpret their blobs. `content` is what the file holds.
        """
        if not self.native.allowed:
            raise NativeRefused(content)

    def constant(self, key: str, nbytes: int, where: str) -> memoryview:
        """The named data of a constant that takes `nbytes` bytes; it may have more. `where` is the place of the
        constant in the blob.

        Raises InvalidFile(DelegateInvalidCompatibility) if there is none, or less of it.
        """
        data = self.named_data.get(key)
        if data is None or data.nbytes < nbytes:
            raise InvalidFile(
                f"the program has no data named {key!r} of {nbytes} bytes",
                code=Error.DelegateInvalidCompatibility,
                where=where,
                hint=f"if it is in a data file, pass the file: {data_file()}",
            )
        return data


class BackendExecuteContext(NamedTuple):
    """Context of a delegate call."""

    platform: Platform
    """Clock, log and memory."""
    tracer: EventTracer | None
    """The receiver of events, if any."""
    method_name: str
    """The method that calls the delegate."""
    instruction: int = -1
    """The index of the call."""

    def log(self, identifier: int | str, name: str, start: int, end: int) -> None:
        """Tell the tracer, if there is one, what took place between two of the platform's ticks. `identifier` is the
        backend's own, for which the compiler's debug map has the source lines.
        """
        if self.tracer is not None:
            self.tracer.on_delegate(self.method_name, self.instruction, identifier, name, start, end)

    def timed(self, identifier: int | str, name: str, run: Callable[[], _Result]) -> _Result:
        """The result of `run`, which is an event of the delegate: see `log`."""
        start = self.platform.ticks()
        result = run()
        self.log(identifier, name, start, self.platform.ticks())
        return result

    def log_values(self, identifier: int | str, name: str, values: Iterable[object]) -> None:
        """Give a tracer that wants values what a part of the delegate has computed, under the events' identifier."""
        if self.tracer is not None and self.tracer.wants_values:
            for output, value in enumerate(values):
                self.tracer.on_delegate_value(
                    self.method_name, self.instruction, identifier, name, output, value
                )


class PartWork(NamedTuple):
    """The work of a part of a delegate in a call: bytes that it reads and writes, and floating-point operations."""

    identifier: int | str
    """The backend's own, as events have it."""
    name: str
    """As events have it."""
    bytes_read: int
    """Bytes of all that it reads, constants too."""
    bytes_written: int
    """Bytes of its results."""
    flops: int | None
    """Two for each multiply-add; None where there is no formula."""


class Backend(ABC):
    """Runs the delegates of one backend id. Methods may use one instance from several threads at a time."""

    backend_id: str = ""
    """The id that files call the backend by: needed where it is registered by `--load`, or by its class alone."""

    calculates: bool = True
    """Whether `execute` computes with numpy, or with the kernels that the method runs with: what they need of their
    surroundings, such as silence about infinities, is there meanwhile."""

    @property
    def is_available(self) -> bool:
        """Whether the backend can run on this machine."""
        return True

    @abstractmethod
    def init(
        self, context: BackendInitContext, processed: memoryview, compile_specs: Sequence[CompileSpec]
    ) -> Handle:
        """Build what `execute` needs from the blob that preprocessing made.

        `processed` is a view of the file that nobody else has: a backend that has taken from it what it needs calls
        `processed.release()`, and where nothing else uses the file's pages the system has them back. What is not
        released `Method.memory_report` counts.

        Raises ExecutorchError with DelegateInvalidCompatibility for a blob that this backend does not
        understand.
        """

    @abstractmethod
    def execute(self, context: BackendExecuteContext, handle: Handle, args: Sequence[object]) -> None:
        """Read the inputs and write the outputs in `args`: inputs, then outputs, in the order of the partition.

        A tensor is an `et_vm.Tensor`, whose `array` is a numpy array on planned memory with the element type and the
        sizes that it has in this execution; other values are Python's. Raises ExecutorchError to end the execution.
        """

    def destroy(self, handle: Handle) -> None:
        """Release what `init` made; called once when the method goes away."""
        del handle

    def memory_report(self, handle: Handle) -> Mapping[str, int]:
        """Bytes that a handle holds beside its blob, by what they are for."""
        del handle
        return {}

    def keeps_state(self, handle: Handle) -> bool:
        """Whether executions of a handle leave something to the next: requests of the method execute one at a time."""
        del handle
        return False

    def work_report(self, handle: Handle) -> Sequence[PartWork]:
        """The work of the parts that events are of, in the shapes of the last call; empty where it is not known."""
        del handle
        return ()

    def set_option(self, options: Mapping[str, OptionValue]) -> None:
        """Apply run-time options. Raises ExecutorchError(NotFound) for one the backend does not have."""
        for key in options:
            raise ExecutorchError(Error.NotFound, f"the backend has no option {key!r}")

    def get_option(self, key: str) -> OptionValue:
        """The current value of an option. Raises ExecutorchError(NotFound)."""
        raise ExecutorchError(Error.NotFound, f"the backend has no option {key!r}")


class BackendRegistry:
    """The backends one runtime has, by id. Registering is not thread-safe; looking up is."""

    def __init__(self, backends: Mapping[str, Backend] | None = None) -> None:
        self._backends: dict[str, Backend] = dict(backends or {})
        self._packages = False
        self._lock = threading.Lock()

    @classmethod
    def standard(cls) -> BackendRegistry:
        """A registry of the backends of backend packages (`et_schema.backend_packages`), those that come with the VM
        among them. Each is loaded when it is looked up.
        """
        registry = cls()
        registry._packages = True
        return registry

    @property
    def registered_backend_names(self) -> list[str]:
        """Ids of all backends, sorted."""
        return sorted({*self._backends, *self._places()})

    @property
    def failures(self) -> Mapping[str, str]:
        """Reasons why backend packages cannot be used, by their names."""
        return backend_packages().failures if self._packages else {}

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {', '.join(self.registered_backend_names) or 'no backends'}>"

    def register(self, backend_id: str, backend: Backend) -> None:
        """Add a backend. Raises ExecutorchError(RegistrationAlreadyRegistered) when the id is taken."""
        if isinstance(backend, type):
            name = backend.__name__
            raise TypeError(f"a backend is an object, not the class {name}: {name}() makes one")
        if backend_id in self._backends or backend_id in self._places():
            raise ExecutorchError(
                Error.RegistrationAlreadyRegistered,
                "a backend is registered already",
                where=backend_id,
                hint="change the id of one",
            )
        self._backends[backend_id] = backend

    def is_available(self, backend_name: str) -> bool:
        """Whether the backend is registered and can run here."""
        backend = self.lookup(backend_name)
        return backend is not None and backend.is_available

    def lookup(self, backend_id: str) -> Backend | None:
        """The backend, or None when it is not registered.

        Raises ExecutorchError: NotSupported for one of a package that cannot be loaded,
        RegistrationAlreadyRegistered where two packages have the runtime of one id.
        """
        found = self._backends.get(backend_id)
        if found is not None:
            return found
        with self._lock:
            place = self._places().get(backend_id)
            if place is None or backend_id in self._backends:
                return self._backends.get(backend_id)
            try:
                backend: Backend = load_part(place)()
            except Exception as error:
                raise ExecutorchError(
                    Error.NotSupported,
                    f"the backend cannot be loaded from {place}: {raised(error)}",
                    where=backend_id,
                ) from error
            self._backends[backend_id] = backend
            return backend

    def set_option(self, backend_id: str, options: Mapping[str, OptionValue]) -> None:
        """Set options of one backend.

        Raises ExecutorchError: NotFound for an unknown backend or option, InvalidArgument for a key above
        64 bytes or a string value above 256, InvalidType for a value that is neither bool, int nor str.
        """
        backend = self._require(backend_id)
        for key, value in options.items():
            if len(key.encode()) > MAX_OPTION_KEY:
                raise ExecutorchError(
                    Error.InvalidArgument, f"option key is longer than {MAX_OPTION_KEY} bytes"
                )
            if not isinstance(value, (bool, int, str)):  # pyright: ignore[reportUnnecessaryIsInstance] callers may be untyped
                raise ExecutorchError(Error.InvalidType, f"option {key!r} must be a bool, an int or a string")
            if isinstance(value, str) and len(value.encode()) > MAX_OPTION_VALUE:
                raise ExecutorchError(
                    Error.InvalidArgument, f"value of option {key!r} is longer than {MAX_OPTION_VALUE} bytes"
                )
        backend.set_option(options)

    def get_option(self, backend_id: str, key: str) -> OptionValue:
        """The value of an option of one backend. Raises ExecutorchError(NotFound)."""
        return self._require(backend_id).get_option(key)

    def _places(self) -> Mapping[str, str]:
        return backend_packages().places("runtime") if self._packages else {}

    def _require(self, backend_id: str) -> Backend:
        backend = self.lookup(backend_id)
        if backend is None:
            raise ExecutorchError(Error.NotFound, "no such backend", where=backend_id)
        return backend
