"""Delegates at run time: what a backend implements, and the registry it is found in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from et_schema.errors import Error, ExecutorchError

if TYPE_CHECKING:
    from et_schema.generated.program import CompileSpec
    from et_vm.platform import Platform
    from et_vm.tracer import EventTracer

Handle: TypeAlias = object
OptionValue: TypeAlias = bool | int | str

MAX_OPTION_KEY = 64
MAX_OPTION_VALUE = 256


class BackendInitContext(NamedTuple):
    """What a backend may use while it initialises one delegate."""

    platform: Platform
    tracer: EventTracer | None
    method_name: str
    named_data: Mapping[str, memoryview]
    """Blobs of the program by key."""


class BackendExecuteContext(NamedTuple):
    """What a backend may use while it executes one call."""

    platform: Platform
    tracer: EventTracer | None
    method_name: str


class Backend(ABC):
    """Runs the delegates of one backend id. Methods may use one instance from several threads at a time."""

    @property
    def is_available(self) -> bool:
        """Whether the backend can run on this machine."""
        return True

    @abstractmethod
    def init(
        self, context: BackendInitContext, processed: memoryview, compile_specs: Sequence[CompileSpec]
    ) -> Handle:
        """Build what :meth:`execute` needs from the blob that preprocessing made.

        Raises ExecutorchError with DelegateInvalidCompatibility for a blob that this backend does not
        understand.
        """

    @abstractmethod
    def execute(self, context: BackendExecuteContext, handle: Handle, args: Sequence[object]) -> None:
        """Read the inputs and write the outputs in ``args`` (inputs, then outputs), which are the values of
        registers.
        """

    def destroy(self, handle: Handle) -> None:
        """Release what :meth:`init` made; called once when the method goes away."""
        del handle

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

    @property
    def registered_backend_names(self) -> list[str]:
        """Ids of all backends, sorted."""
        return sorted(self._backends)

    def register(self, backend_id: str, backend: Backend) -> None:
        """Add a backend. Raises ExecutorchError(RegistrationAlreadyRegistered) when the id is taken."""
        if backend_id in self._backends:
            raise ExecutorchError(
                Error.RegistrationAlreadyRegistered, "a backend is registered already", where=backend_id
            )
        self._backends[backend_id] = backend

    def is_available(self, backend_name: str) -> bool:
        """Whether the backend is registered and can run here."""
        backend = self._backends.get(backend_name)
        return backend is not None and backend.is_available

    def lookup(self, backend_id: str) -> Backend | None:
        """The backend, or None when it is not registered."""
        return self._backends.get(backend_id)

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

    def _require(self, backend_id: str) -> Backend:
        backend = self._backends.get(backend_id)
        if backend is None:
            raise ExecutorchError(Error.NotFound, "no such backend", where=backend_id)
        return backend
