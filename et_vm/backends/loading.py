"""Backends of a user's own file or module."""

from __future__ import annotations

import inspect
from types import ModuleType

from et_schema.errors import Error, ExecutorchError
from et_schema.user_code import raised
from et_vm.backend import Backend

__all__ = ["backend_classes", "backends_of"]


def backend_classes(module: ModuleType) -> dict[str, type[Backend]]:
    """The backends that a module defines with a `backend_id`, by that id.

    Raises ExecutorchError(RegistrationAlreadyRegistered) for two of one id.
    """
    found: dict[str, type[Backend]] = {}
    for value in vars(module).values():
        if not isinstance(value, type) or not issubclass(value, Backend) or inspect.isabstract(value):
            continue
        if value.__module__ != module.__name__ or not value.backend_id:
            continue
        if value.backend_id in found:
            raise ExecutorchError(
                Error.RegistrationAlreadyRegistered,
                f"two backends have the id {value.backend_id!r}",
                where=f"{module.__name__}.{value.__name__}",
                hint="change the backend_id of one",
            )
        found[value.backend_id] = value
    return found


def backends_of(module: ModuleType) -> dict[str, Backend]:
    """An instance of each backend that a module defines with a `backend_id`, by that id.

    Raises ExecutorchError: RegistrationAlreadyRegistered for two of one id, Internal for one whose constructor raises.
    """
    found: dict[str, Backend] = {}
    for backend_id, value in backend_classes(module).items():
        try:
            found[backend_id] = value()
        except Exception as error:
            text = f"the backend {backend_id!r} cannot be created: {raised(error)}"
            where = f"{module.__name__}.{value.__name__}"
            raise ExecutorchError(Error.Internal, text, where=where) from error
    return found
