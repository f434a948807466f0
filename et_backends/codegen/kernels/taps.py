"""Places of pixels and their weights, computed while a kernel runs."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, i64
from xdsl.ir import SSAValue

from et_backends.codegen.loop_builder import Index, LoopBuilder

__all__ = ["Tap", "Taps"]


@dataclass(frozen=True)
class Tap:
    """A place along a dimension of an image, and the weight of the pixel there, if it has one."""

    place: Index
    weight: SSAValue | None = None


class Taps:
    """Makes taps of vectors of one float, which arithmetic is on."""

    def __init__(self, b: LoopBuilder):
        self._b = b
        self._place, self._weights = b.local(1, element=i64), b.local(2)

    def index(self, position: SSAValue) -> Index:
        """A whole number as an index."""
        b = self._b
        b.store(b.convert("fptosi", position, i64), self._place, [0])
        return b.value(arith.IndexCastOp(b.element(self._place, [0]), IndexType()))

    def two(self, places: tuple[Index, Index], weights: tuple[SSAValue, SSAValue]) -> list[Tap]:
        """Two taps with weights."""
        b = self._b
        for at, weight in enumerate(weights):
            b.store(weight, self._weights, [at])
        return [Tap(place, b.element(self._weights, [at])) for at, place in enumerate(places)]
