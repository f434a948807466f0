"""The arenas of a method: banks of bytes by memory id."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.lib.array_utils import byte_bounds

from et_schema.errors import OutOfMemory
from et_schema.wording import in_words
from et_vm.platform import Platform
from et_vm.values import Array


class MemoryManager:
    """Owns the banks that planned tensors live in; the caller decides where they are and how large.

    Memory ids start at 1, as in the file. A bank made from a size is zeroed and 64-byte aligned. Methods
    that are given the same manager share their arenas, and with them the state of their mutable buffers;
    they must then not run at the same time.
    """

    def __init__(self, banks: Mapping[int, Array | int], *, platform: Platform | None = None) -> None:
        """`banks` maps a memory id to a size in bytes, or to a writable contiguous array whose bytes are
        the bank.

        Raises ValueError for an id below 1 or an array that cannot be used, OutOfMemory when a size cannot
        be had.
        """
        platform = platform or Platform()
        self.turn = threading.Lock()
        """Held by the request that executes in this memory."""
        self._banks: dict[int, Array] = {}
        self._initialised: dict[int, tuple[object, set[object]]] = {}
        """Programs by identity, and what of their state has had its initial value."""
        for memory_id, bank in banks.items():
            if memory_id < 1:
                raise ValueError(f"memory ids start at 1, got {memory_id}")
            if isinstance(bank, np.ndarray):
                if not bank.flags.c_contiguous or not bank.flags.writeable:
                    raise ValueError(f"bank {memory_id} must be a writable contiguous array")
                self._banks[memory_id] = bank.reshape(-1).view(np.uint8)
            else:
                try:
                    self._banks[memory_id] = platform.allocate(bank)
                except OutOfMemory as error:
                    error.where = f"memory id {memory_id}"
                    raise

    @classmethod
    def for_sizes(cls, plans: Iterable[Sequence[int]], platform: Platform | None = None) -> MemoryManager:
        """A manager large enough for each of several plans, given their `non_const_buffer_sizes` (entry 0
        is reserved).
        """
        banks: dict[int, Array | int] = {}
        for sizes in plans:
            for memory_id, size in enumerate(sizes):
                if memory_id:
                    banks[memory_id] = max(size, int(banks.get(memory_id, 0)))
        return cls(banks, platform=platform)

    def __repr__(self) -> str:
        banks = [f"bank {number} of {in_words(nbytes, 'byte')}" for number, nbytes in self.sizes.items()]
        return f"<{type(self).__name__}: {', '.join(banks) or 'no banks'}>"

    @property
    def is_disjoint(self) -> bool:
        """Whether no bank has bytes of another."""
        spans = sorted(byte_bounds(bank) for bank in self._banks.values() if bank.nbytes)
        return all(before[1] <= after[0] for before, after in pairwise(spans))

    @property
    def sizes(self) -> dict[int, int]:
        """Bytes of each bank by memory id."""
        return {memory_id: bank.nbytes for memory_id, bank in sorted(self._banks.items())}

    def bank(self, memory_id: int, nbytes: int) -> Array:
        """The bank, when it has at least `nbytes`; raises OutOfMemory otherwise."""
        bank = self._banks.get(memory_id)
        available = 0 if bank is None else bank.nbytes
        if bank is None or nbytes > available:
            raise OutOfMemory(
                f"memory id {memory_id} has {available} bytes, the method needs {nbytes}",
                needed=nbytes,
                available=available,
                where=f"memory id {memory_id}",
                hint="give the MemoryManager a larger bank",
            )
        return bank

    def is_new(self, program: object, state: object) -> bool:
        """Whether this is the first time that this is asked of some state of a program, which then gets its initial
        value: another method that is loaded later goes on from where the first has come to.
        """
        _, known = self._initialised.setdefault(id(program), (program, set()))
        if state in known:
            return False
        known.add(state)
        return True

    def fill(self, pattern: int) -> None:
        """Set every byte of every bank."""
        for bank in self._banks.values():
            bank.fill(pattern)
