"""Contents of memory as SSA values, for SSA construction from registers.

Bytes are looked up by where they lie, so that reuse of an arena, views and writes to parts of a tensor need no
analysis of aliases: a register holds what was written last to each of its bytes.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from xdsl.ir import SSAValue

from et_ir.dialects.executorch.arguments import Scalar
from et_ir.dialects.executorch.layout import Tensor, nbytes

__all__ = ["Contents", "Definition", "Location", "Piece"]


class Location(NamedTuple):
    """A place in memory: an arena, a symbol or a register's own memory, and the first byte in it."""

    space: Hashable
    start: int


@dataclass(frozen=True, eq=False)
class Definition:
    """A tensor that was written to memory; `type` is that of the register, with static sizes."""

    value: SSAValue
    type: Tensor


class Piece(NamedTuple):
    """Bytes from `start` to `end` of a space: those of a definition from `offset` on."""

    start: int
    end: int
    definition: Definition
    offset: int

    def cut(self, start: int, end: int) -> Piece:
        """The part of the piece within these bounds."""
        first, last = max(start, self.start), min(end, self.end)
        return Piece(first, last, self.definition, self.offset + first - self.start)


@dataclass
class Contents:
    """The values that registers hold at a point of a plan."""

    spaces: dict[Hashable, list[Piece]] = field(default_factory=dict[Hashable, "list[Piece]"])
    """The pieces of each space, in the order of their bytes, which do not overlap."""
    empty: dict[Location, Definition] = field(default_factory=dict[Location, Definition])
    """Tensors without elements, which have no bytes."""
    scalars: dict[SSAValue, SSAValue | Scalar] = field(default_factory=dict[SSAValue, "SSAValue | Scalar"])
    """Registers for numbers and strings."""
    bindings: dict[SSAValue, Location] = field(default_factory=dict[SSAValue, Location])
    """The memory of registers that instructions made refer to that of others."""
    shapes: dict[SSAValue, list[Any] | SSAValue] = field(
        default_factory=dict[SSAValue, "list[Any] | SSAValue"]
    )
    """Of registers with sizes known at run time: sizes that an instruction gave a view, numbers or values, or the
    tensor that was written to the register last, whose sizes it has.
    """

    def copy(self) -> Contents:
        """Contents that change on their own."""
        spaces = {space: list(pieces) for space, pieces in self.spaces.items()}
        return Contents(spaces, dict(self.empty), dict(self.scalars), dict(self.bindings), dict(self.shapes))

    def write(self, place: Location, count: int, definition: Definition) -> None:
        """Replace the bytes of a place by those of a definition."""
        if not count:
            self.empty[place] = definition
            return
        self.clear(place, count)
        pieces = self.spaces.setdefault(place.space, [])
        pieces.append(Piece(place.start, place.start + count, definition, 0))
        pieces.sort(key=lambda piece: piece.start)

    def clear(self, place: Location, count: int) -> None:
        """Forget the bytes of a place."""
        start, end = place.start, place.start + count
        kept: list[Piece] = []
        for piece in self.spaces.get(place.space, ()):
            if piece.end <= start or end <= piece.start:
                kept.append(piece)
                continue
            if piece.start < start:
                kept.append(piece.cut(piece.start, start))
            if end < piece.end:
                kept.append(piece.cut(end, piece.end))
        self.spaces[place.space] = kept

    def definition_at(self, place: Location, count: int) -> Definition | None:
        """The definition that begins at a place, if all its bytes are still there; `count` is 0 for one without any."""
        if not count:
            return self.empty.get(place)
        for piece in self.spaces.get(place.space, ()):
            if piece.start == place.start and not piece.offset:
                is_complete = piece.end - piece.start == nbytes(piece.definition.type)
                return piece.definition if is_complete else None
        return None

    def read(self, place: Location, count: int) -> Sequence[Piece]:
        """The pieces that make up the bytes of a place; none where some of them were never written."""
        if not count:
            found = self.empty.get(place)
            return () if found is None else (Piece(place.start, place.start, found, 0),)
        start, end = place.start, place.start + count
        pieces = [
            piece.cut(start, end)
            for piece in self.spaces.get(place.space, ())
            if piece.start < end and start < piece.end
        ]
        return pieces if sum(piece.end - piece.start for piece in pieces) == count else ()
