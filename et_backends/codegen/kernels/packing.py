"""Constants in the order in which kernels read them.

Packed bytes are computed once for their hash, by which files name them, and, unless they are few, again when they are
written: weights of a model take no second copy in memory. Partitions and methods that read one constant in the same
form share what was made of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias
from weakref import WeakValueDictionary

import numpy as np

from et_ir.data.blob import KEEP, Blob
from et_ir.data.mapped import release

__all__ = ["Numbers", "as_is", "packed_blob", "source_key"]

Numbers: TypeAlias = np.ndarray[Any, np.dtype[Any]]

_Key: TypeAlias = tuple[object, ...]
_MADE: Final[WeakValueDictionary[_Key, Blob]] = WeakValueDictionary()
"""By form and place of the sources: a blob that is not kept holds its sources, so their memory is not another's."""


def source_key(form: str, sources: Sequence[Numbers]) -> _Key:
    """A key of a form of arrays that are in memory, unique as long as these live."""
    places = (
        (_owner(one), one.__array_interface__["data"][0], one.shape, one.strides, one.dtype)
        for one in sources
    )
    return form, *places


def _owner(array: Numbers) -> int:
    """The identity of the object that has the memory of an array.

    It is another one for weights that were changed in place and exported again, at the same address.
    """
    owner: object = array
    while True:
        # Views of numpy have a base, those of Python an object.
        outer: object = getattr(owner, "base", None)
        if outer is None:
            outer = getattr(owner, "obj", None)
        if outer is None:
            return id(owner)
        owner = outer


def packed_blob(form: str, sources: Sequence[Numbers], pack: Callable[..., Numbers]) -> Blob:
    """The bytes that `pack` makes of arrays, which a form identifies; it must not hold on to anything else."""
    key = source_key(form, sources)
    found = _MADE.get(key)
    if found is not None:
        _release(sources)
        return found

    def compute() -> memoryview:
        made = np.ascontiguousarray(pack(*sources)).reshape(-1).view(np.uint8).data
        _release(sources)
        return made

    first = compute()
    if first.nbytes <= KEEP:
        return Blob.of("packed", first)
    digest = hashlib.sha256(first).hexdigest()
    made = _MADE[key] = Blob("packed", first.nbytes, compute=compute, sha256=digest)
    return made


def _release(sources: Sequence[Numbers]) -> None:
    """Give back the memory of sources in temporary files: they are read by one kernel after the other."""
    for one in sources:
        release(one.__array_interface__["data"][0])


def as_is(source: Numbers) -> Numbers:
    """An array in its own order."""
    return source
