"""Insertion block of random programs.

It holds nodes, the values that they see, and what is known of them.

Of every number it is known in which range it lies, so that what is computed stays small, indices are in range, and
nothing is divided by zero. Loops keep what they carry in its range.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final, NamedTuple

from property.programs import Argument, Body, Call, Element, Extent, Node, Size, Type, Var, size_at

__all__ = ["FLOATS", "INTEGERS", "LIMITS", "Block", "Facts", "Names", "Unfit", "broadcast"]

FLOATS: Final = (-4.0, 4.0)
"""The range that carried and stored floats lie in."""
INTEGERS: Final = (-20, 20)
LIMITS: Final = {"f32": 32.0, "i64": 1000.0, "i1": 1.0}
"""No value is larger: what could be is brought back to the ranges above."""
MAX_ELEMENTS: Final = 96
MAX_RANK: Final = 4


class Unfit(Exception):
    """There are no operands here for what was to be made."""


class Facts(NamedTuple):
    """Facts about a value: the range of its elements, and whether torch has it contiguous in memory."""

    low: float
    high: float
    contiguous: bool = True


@dataclass
class Names:
    """State shared by all blocks of a program: the random source, facts, and a counter for names."""

    random: Random
    sizes: tuple[int, int] | None
    facts: dict[Var, Facts]
    count: int = 0

    def var(self, type: Type, facts: Facts) -> Var:
        """A new value."""
        self.count += 1
        var = Var(f"v{self.count}", type)
        self.facts[var] = facts
        return var

    def least(self, size: Size) -> int:
        """The smallest that a size can be."""
        return size_at(size, self.sizes[0]) if self.sizes else size_at(size, 0)

    def most(self, size: Size) -> int:
        """The largest that a size can be."""
        return size_at(size, self.sizes[1]) if self.sizes else size_at(size, 0)

    def count_of(self, shape: Iterable[Size]) -> int:
        """The largest number of elements."""
        return math.prod(self.most(size) for size in shape)

    def is_empty(self, shape: Iterable[Size]) -> bool:
        """Whether there may be no elements."""
        return any(self.least(size) < 1 for size in shape)


def broadcast(one: Sequence[Size], other: Sequence[Size]) -> tuple[Size, ...] | None:
    """The shape that two broadcast to, if they do for each size that they can have."""
    rank = max(len(one), len(other))
    found: list[Size] = []
    for a, b in zip(
        (1,) * (rank - len(one)) + tuple(one), (1,) * (rank - len(other)) + tuple(other), strict=True
    ):
        if 1 not in (a, b) and a != b:
            return None
        found.append(b if a == 1 else a)
    return tuple(found)


class Block:
    """A growing body."""

    def __init__(self, names: Names, outer: Block | None = None, params: Sequence[Var] = ()):
        self.names = names
        self.random = names.random
        self.depth: int = 0 if outer is None else outer.depth + 1
        self.outer = outer
        self.params = tuple(params)
        self.own: list[Var] = list(params)
        self.nodes: list[Node] = []

    def body(self, outputs: Sequence[Var]) -> Body:
        """The finished body."""
        return Body(self.params, tuple(self.nodes), tuple(outputs))

    def facts(self, var: Var) -> Facts:
        """The facts about a value."""
        return self.names.facts[var]

    # -- choosing

    def visible(self) -> list[Var]:
        """The values that can be used here, the newest last."""
        return ([] if self.outer is None else self.outer.visible()) + self.own

    def pick(self, fits: Callable[[Var], bool] = lambda _: True) -> Var:
        """A value that fits, more often a new one. Raises `Unfit`."""
        found = [var for var in self.visible() if fits(var)]
        if not found:
            raise Unfit
        return self.random.choice(found[-5:] if self.random.random() < 0.6 else found)

    def floats(self, fits: Callable[[Var], bool] = lambda _: True) -> Var:
        """A tensor of floats that fits. Raises `Unfit`."""
        return self.pick(lambda var: var.type.element == "f32" and fits(var))

    def integers(self, fits: Callable[[Var], bool] = lambda _: True) -> Var:
        """A tensor of integers that fits. Raises `Unfit`."""
        return self.pick(lambda var: var.type.element == "i64" and fits(var))

    def dim(self, var: Var, *, filled: bool = False) -> int:
        """A dimension of a value, with `filled` one that has elements. Raises `Unfit`."""
        dims = [at for at, size in enumerate(var.type.shape) if not filled or self.names.least(size) > 0]
        if not dims:
            raise Unfit
        return self.random.choice(dims)

    def signed(self, dim: int, rank: int) -> int:
        """A dimension as it may be written, from the end too."""
        return dim - rank if self.random.random() < 0.3 else dim

    # -- making

    def add(self, node: Node) -> None:
        """Append a node, whose results have their facts."""
        self.nodes.append(node)
        self.own.extend(node.results)

    def call(
        self,
        operator: str,
        *arguments: Argument,
        type: Type,
        low: float,
        high: float,
        contiguous: bool = True,
    ) -> Var:
        """Append a call with one result. Raises `Unfit` if that is too large a tensor."""
        (result,) = self.calls(operator, *arguments, types=[type], facts=[Facts(low, high, contiguous)])
        limit = LIMITS[type.element]
        if low < -limit or high > limit:
            return self.bounded(result, *(FLOATS if type.element == "f32" else INTEGERS))
        return result

    def calls(
        self,
        operator: str,
        *arguments: Argument,
        types: Sequence[Type],
        facts: Sequence[Facts],
        is_list: bool = False,
    ) -> tuple[Var, ...]:
        """Append a call with results of their types and facts."""
        for type in types:
            if len(type.shape) > MAX_RANK or self.names.count_of(type.shape) > MAX_ELEMENTS:
                raise Unfit
        results = tuple(self.names.var(type, each) for type, each in zip(types, facts, strict=True))
        self.add(Call(results, operator, arguments, is_list))
        return results

    def like(self, operator: str, var: Var, *rest: Argument, low: float, high: float) -> Var:
        """Append a call with a result of its first argument's type."""
        return self.call(
            operator, var, *rest, type=var.type, low=low, high=high, contiguous=self.facts(var).contiguous
        )

    # -- values with what is asked of them

    def bounded(self, var: Var, low: float, high: float) -> Var:
        """The value brought into a range."""
        facts = self.facts(var)
        if low <= facts.low and facts.high <= high:
            return var
        if var.type.element == "i64" and self.random.random() < 0.5 and high > low:
            if low:
                width = int(high - low) + 1
                turned = self.like("remainder.Scalar", var, width, low=0, high=width - 1)
                return self.like("add.Tensor", turned, int(low), low=low, high=high)
            return self.like("remainder.Scalar", var, int(high) + 1, low=0, high=high)
        if low == -high and var.type.element == "f32" and self.random.random() < 0.5:
            squeezed = self.like("tanh", var, low=-1.0, high=1.0)
            return squeezed if high >= 1 else self.like("mul.Tensor", squeezed, high, low=low, high=high)
        number = float if var.type.element == "f32" else int
        return self.like("clamp", var, number(low), number(high), low=low, high=high)

    def converted(self, var: Var, element: str) -> Var:
        """The value with another element type."""
        if var.type.element == element:
            return var
        facts = self.facts(var)
        if element == "i1":
            operator = self.random.choice(["gt.Scalar", "lt.Scalar", "ge.Scalar"])
            if var.type.element == "f32":
                return self.call(
                    operator,
                    var,
                    round(self.random.uniform(-1, 1), 3),
                    type=Type("i1", var.type.shape),
                    low=0,
                    high=1,
                    contiguous=facts.contiguous,
                )
            return self.call(
                operator,
                var,
                self.random.randint(-2, 4),
                type=Type("i1", var.type.shape),
                low=0,
                high=1,
                contiguous=facts.contiguous,
            )
        low, high = math.floor(facts.low), math.ceil(facts.high)
        return self.call(
            "to.dtype",
            var,
            Element(element),
            type=Type(element, var.type.shape),
            low=low,
            high=high,
            contiguous=facts.contiguous,
        )

    def scalar(self, element: str) -> Var:
        """A tensor without dimensions, computed from something or, where there is nothing, constant."""
        found = [var for var in self.visible() if var.type == Type(element)]
        if found and self.random.random() < 0.5:
            return self.random.choice(found)
        var = self.converted(self.pick(), element)
        if not var.type.shape:
            return var
        facts, count = self.facts(var), self.names.count_of(var.type.shape)
        if element == "i1":
            return self.call(self.random.choice(["any", "all"]), var, type=Type("i1"), low=0, high=1)
        if element == "f32" and not self.names.is_empty(var.type.shape) and self.random.random() < 0.7:
            return self.call("mean", var, type=Type("f32"), low=facts.low, high=facts.high)
        low, high = min(0.0, facts.low * count), max(0.0, facts.high * count)
        return self.call("sum", var, type=Type(element), low=low, high=high)

    def of_type(self, type: Type, low: float, high: float, *, reuse: float = 0.8) -> Var:
        """A value of a type, in a range: one that is there, or one made of another."""
        found = [var for var in self.visible() if var.type == type]
        if found and self.random.random() < reuse:
            var = self.random.choice(found[-4:])
        else:
            scalar = self.scalar(type.element)
            var = self.expanded(scalar, type.shape) if type.shape else scalar
        if type.element == "i1":
            return var
        return self.bounded(var, low, high)

    def expanded(self, scalar: Var, shape: tuple[Size, ...]) -> Var:
        """A tensor without dimensions, expanded."""
        facts = self.facts(scalar)
        return self.call(
            "expand",
            scalar,
            tuple(shape),
            type=Type(scalar.type.element, shape),
            low=facts.low,
            high=facts.high,
            contiguous=False,
        )

    def index(self, size: Size) -> Var:
        """A tensor without dimensions that is an index into a size."""
        return self.of_type(Type("i64"), 0, self.names.least(size) - 1)

    def constant(self, type: Type, value: float) -> Var:
        """A tensor full of one number."""
        number = (
            float(value) if type.element == "f32" else bool(value) if type.element == "i1" else int(value)
        )
        return self.call("full", tuple(type.shape), number, type=type, low=value, high=value)

    def extents(self, shape: Iterable[Size]) -> bool:
        """Whether a shape has sizes known at run time only."""
        return any(isinstance(size, Extent) for size in shape)
