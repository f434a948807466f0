"""Debug handles of a backend: what its own identifiers stand for in the program."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr
from xdsl.ir import Operation

__all__ = ["DelegateMappingBuilder"]


class DelegateMappingBuilder:
    """Collects which ops each of a backend's identifiers stands for.

    With `generated_identifiers` the identifiers are the numbers from 0, in the order of the calls; else each call
    gives one, a number or a name, all of one kind.
    """

    def __init__(self, generated_identifiers: bool = False):
        self._generated = generated_identifiers
        self._mapping: dict[int | str, tuple[LocationAttr, ...]] = {}

    def insert_delegate_mapping_entry(
        self, nodes: Operation | Iterable[Operation], identifier: int | str | None = None
    ) -> int | str:
        """Note that an identifier stands for ops; returns the identifier.

        Raises `ValueError` if it is known already, of another kind, missing, or given where they are generated.
        """
        if self._generated != (identifier is None):
            told = "generates the identifiers: do not pass one" if self._generated else "needs an identifier"
            raise ValueError(f"this mapping {told}")
        key = len(self._mapping) if identifier is None else identifier
        if key in self._mapping:
            raise ValueError(f"the identifier {key!r} is already used for other ops")
        first = next(iter(self._mapping), key)
        if isinstance(first, str) != isinstance(key, str):
            raise ValueError(f"identifiers must be all numbers or all names; {key!r} mixes the two")
        ops = (nodes,) if isinstance(nodes, Operation) else nodes
        self._mapping[key] = tuple(dict.fromkeys(op.location for op in ops))
        return key

    def get_delegate_mapping(self) -> dict[int | str, tuple[LocationAttr, ...]]:
        """The map as `PreprocessResult.debug_handle_map` has it."""
        return dict(self._mapping)

    def get_debug_orders(self) -> dict[int | str, tuple[int, ...]]:
        """The orders as `PreprocessResult.debug_orders` has them: () for the value of each identifier that a later one
        goes on with, as the nodes of an exported program are known by their locations.
        """
        found: dict[int | str, tuple[int, ...]] = {}
        later: set[LocationAttr] = set()
        for key, locations in reversed(self._mapping.items()):
            known = [one for one in locations if one != UNKNOWN_LOC]
            if known and known[-1] in later:
                found[key] = ()
            later.update(known)
        return found
