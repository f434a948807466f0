"""Backends by the name that `et-compile --backend` takes: those of backend packages (`et_schema.backend_packages`), and
those that a file registers when it is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

from et_ir.delegation.details import BackendDetails
from et_ir.delegation.errors import BackendError, MissingBackend
from et_ir.delegation.partitioner import Partitioner
from et_ir.targets.devices import accelerator_backends
from et_schema.backend_packages import backend_packages, load_part
from et_schema.diagnostics import did_you_mean
from et_schema.user_code import raised

__all__ = [
    "Backend",
    "backend_names",
    "details_of",
    "find_backend",
    "make_partitioner",
    "parse_backend",
    "register_backend",
    "split_backends",
]


@dataclass(frozen=True)
class Backend:
    """A backend ahead of time."""

    name: str
    """Name in `--backend NAME`."""
    details: type[BackendDetails]
    """Its compiler."""
    partitioner: Callable[[Mapping[str, str]], Partitioner]
    """Makes its partitioner of the options that a user gives, `key=value`. Raises `ValueError` for one it does not
    have, or that it cannot take.
    """


_registered: dict[str, Backend] = {}


def register_backend(backend: Backend) -> Backend:
    """Add a backend. The same one may be added again, as when a file is loaded twice.

    Raises `BackendError` if another one has its name, or its backend id, and for details that are none.
    """
    details = cast(object, backend.details)
    if not isinstance(details, type) or not issubclass(details, BackendDetails):
        raise BackendError(
            f"backend '{backend.name}': its details are {details!r}, not a class of BackendDetails"
        )
    if not backend.details.backend_id:
        raise BackendError(f"backend '{backend.name}': the backend_id of {details.__name__} is empty")
    known = _named(backend.name)
    if known is not None and not _same(known, backend):
        raise BackendError(
            f"two backends are named '{backend.name}': {_place(known)} and {_place(backend)}; rename one"
        )
    for other in _registered.values():
        if other.details.backend_id == backend.details.backend_id and not _same(other, backend):
            raise BackendError(
                f"two backends have the id '{other.details.backend_id}': {_place(other)} and "
                f"{_place(backend)}; change the backend_id of one"
            )
    _registered[backend.name] = backend
    return backend


def backend_names() -> list[str]:
    """The names of all backends there are, sorted."""
    packages = backend_packages()
    compilers = (name for name, package in packages.found.items() if package.compiler)
    return sorted({*compilers, *packages.failures, *_registered})


def find_backend(name: str) -> Backend:
    """A backend by its name. Raises `MissingBackend` naming those there are, and `BackendError` for one that is
    installed but cannot be loaded, or that two packages install.
    """
    found = _named(name)
    if found is None:
        names = backend_names()
        there = ", ".join(names) or "none"
        near = [one for one in accelerator_backends(name) if one in names]
        hint = f"; for {name} give {' or '.join(near)}" if near else did_you_mean(name.lower(), names)
        raise MissingBackend(f"unknown backend '{name}'; backends are: {there}{hint}")
    return found


def details_of(backend_id: str) -> type[BackendDetails]:
    """The compiler of the backend that files call `backend_id`. Raises as `find_backend` does."""
    for backend in _registered.values():
        if backend.details.backend_id == backend_id:
            return backend.details
    packages = {
        package.backend_id: name for name, package in backend_packages().found.items() if package.compiler
    }
    if backend_id in packages:
        return find_backend(packages[backend_id]).details
    ids = sorted({*packages, *(backend.details.backend_id for backend in _registered.values())})
    there = ", ".join(ids) or "none"
    way = "the id of a DelegationSpec is the backend_id of a BackendDetails class, by default its name"
    hint = did_you_mean(backend_id, ids)
    failures = "".join(
        f"; the package '{name}' cannot be used: {why}" for name, why in backend_packages().failures.items()
    )
    raise MissingBackend(f"no backend has the id '{backend_id}'; ids are: {there}{hint}; {way}{failures}")


def split_backends(text: str) -> list[str]:
    """Several backends in one text, as `native,openvino:device=CPU,tosa`: a part without `=` begins another one, as
    does one with a name in front of its first option.
    """
    found: list[str] = []
    for part in text.split(","):
        name, colon, _ = part.partition(":")
        begins = "=" not in part or (colon and "=" not in name)
        if begins or not found:
            found.append(part)
        else:
            found[-1] += f",{part}"
    return found


def parse_backend(text: str) -> tuple[Backend, dict[str, str]]:
    """Parser of `NAME[:key=value[,key=value]]`. Raises as `find_backend` does, and `BackendError`."""
    name, _, rest = text.partition(":")
    options: dict[str, str] = {}
    for part in filter(None, rest.split(",")):
        key, equals, value = part.partition("=")
        if not equals or not key:
            raise BackendError(f"{text}: expected NAME[:key=value[,key=value]], not '{part}'")
        if key in options:
            raise BackendError(f"{text}: the option '{key}' is given twice")
        options[key] = value
    return find_backend(name), options


def make_partitioner(text: str) -> Partitioner:
    """The partitioner that `NAME[:key=value[,key=value]]` asks for. Raises as `parse_backend` does."""
    backend, options = parse_backend(text)
    try:
        made = cast(object, backend.partitioner(options))
    except ValueError as error:
        raise BackendError(f"backend '{backend.name}': {error}") from error
    except (Exception, SystemExit) as error:
        text = f"its partitioner cannot be created: {raised(error)}"
        raise BackendError(f"backend '{backend.name}': {text}") from error
    if not isinstance(made, Partitioner):
        raise BackendError(f"backend '{backend.name}': {made!r} is not a Partitioner")
    return made


def _named(name: str) -> Backend | None:
    if name in _registered:
        return _registered[name]
    packages = backend_packages()
    if name in packages.failures:
        raise BackendError(f"backend '{name}': {packages.failures[name]}")
    package = packages.found.get(name)
    if package is None or not package.compiler:
        return None
    try:
        backend: object = load_part(package.compiler)
    except (Exception, SystemExit) as error:
        raise BackendError(
            f"the backend '{name}' cannot be loaded from {package.compiler}: {raised(error)}"
        ) from error
    return _checked(name, package.backend_id, backend)


def _checked(name: str, backend_id: str, backend: object) -> Backend:
    if not isinstance(backend, Backend) or backend.name != name:
        raise BackendError(
            f"what is installed as the backend '{name}' is {backend!r}, no Backend of that name"
        )
    if backend.details.backend_id != backend_id:
        raise BackendError(
            f"the backend '{name}' has the id '{backend.details.backend_id}', and '{backend_id}' in its package"
        )
    _registered[name] = backend
    return backend


def _place(backend: Backend) -> str:
    return f"{backend.details.__module__}.{backend.details.__qualname__}"


def _same(one: Backend, other: Backend) -> bool:
    """Whether two are one: a file that is loaded again makes its classes anew."""
    return one is other or (
        _place(one) == _place(other) and one.details.backend_id == other.details.backend_id
    )
