"""Constants of delegates: in their blobs, or named data of the program that several may share.

A backend package (`et_schema.backend_packages`) says what a blob has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from et_schema.errors import Error, ExecutorchError
from et_schema.user_code import raised

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from et_schema.delegate_constants import DelegateConstant
    from et_vm.program import Program

__all__ = ["DelegateWeight", "DelegateWeights", "delegate_weights"]

NUMPY: Final = {
    "float32": "float32",
    "float16": "float16",
    "qint32": "int32",
    "qcint32": "int32",
    "qint8": "int8",
    "qcint8": "int8",
    "quint8": "uint8",
    "bool": "bool",
    "int8": "int8",
    "uint8": "uint8",
    "int16": "int16",
    "int32": "int32",
    "int64": "int64",
}
"""Types whose elements numpy has."""


class DelegateWeight(NamedTuple):
    """A constant of one or several delegates."""

    facts: dict[str, Any]
    """`dtype` and `shape`, of bytes where the blob does not say more; `nbytes`; `delegate`, the backend; `uses`, how
    often blobs name it; `external`, whether it is outside of the file; the `key` of named data; `name`, or the one of
    the blob, and `also`, if known.
    """
    data: memoryview | None
    """In the file."""

    def values(self) -> NDArray[np.generic] | None:
        """The elements, where these are in the file and numpy has their type."""
        import numpy as np

        if self.data is None or self.facts["dtype"] not in NUMPY:
            return None
        dtype = np.dtype(NUMPY[self.facts["dtype"]])
        # The data may have padding behind it, or be shorter than its type says in a file of any origin.
        nbytes = min(self.facts["nbytes"], self.data.nbytes) // dtype.itemsize * dtype.itemsize
        return np.frombuffer(self.data[:nbytes], dtype)


class DelegateWeights(NamedTuple):
    """The constants of all delegates."""

    weights: list[DelegateWeight]
    """Largest first."""
    unread: dict[str, str]
    """The reasons why those of other blobs are not there, by backend."""


def delegate_weights(program: Program, names: Mapping[str, Sequence[str]]) -> DelegateWeights:
    """The constants of all delegates. `names` has names of constants by the SHA-256 of their bytes."""
    from et_schema.backend_packages import backend_packages

    pte = program.pte
    named = pte.named_data()
    readers = backend_packages().places("constants")
    found: dict[object, DelegateWeight] = {}
    unread: dict[str, str] = {}
    for plan in pte.program.execution_plan:
        for delegate in plan.delegates:
            reference = delegate.processed
            assert reference is not None, "reading the file checks that delegates have data"
            if delegate.id not in readers:
                unread[delegate.id] = "no installed package reads its blobs"
                continue
            try:
                constants = _read(readers[delegate.id], pte.delegate_data(reference), named)
            except ExecutorchError as error:
                unread[delegate.id] = error.message
                continue
            own = (delegate.id, reference.location, reference.index)
            for at, one in enumerate(constants):
                key = one.key or (*own, at)
                if key in found:
                    found[key].facts["uses"] += 1
                else:
                    found[key] = DelegateWeight(_facts(one, delegate.id, names), one.data)
    return DelegateWeights(sorted(found.values(), key=lambda weight: -weight.facts["nbytes"]), unread)


def _read(place: str, blob: memoryview, named: Mapping[str, memoryview]) -> list[DelegateConstant]:
    """What the function of a package says of a blob. Raises ExecutorchError for any failure: it may be foreign code."""
    from et_schema.backend_packages import load_part

    try:
        return list(load_part(place)(blob, named))
    except ExecutorchError:
        raise
    except Exception as error:
        raise ExecutorchError(Error.Internal, f"{raised(error)} (in {place})") from error


def _facts(one: DelegateConstant, backend: str, names: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    from hashlib import sha256

    facts: dict[str, Any] = {
        "dtype": one.dtype,
        "shape": one.shape,
        "nbytes": one.nbytes,
        "delegate": backend,
        "external": one.data is None,
        "uses": 1,
    }
    if one.key:
        facts["key"] = one.key
    known = names.get(sha256(one.data).hexdigest(), ()) if names and one.data is not None else ()
    if known or one.name:
        facts["name"] = known[0] if known else one.name
    if known[1:]:
        facts["also"] = list(known[1:])
    return facts
