"""A random program for each seed."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from property.block import Block, Facts, Names, Unfit
from property.control import CONTROL
from property.programs import Extent, Input, Program, Size, Type, Var
from property.shapes import SHAPES
from property.state import Store
from property.values import VALUES

__all__ = ["generate"]

ATTEMPTS = 20


def generate(seed: int) -> Program:
    """The program of a seed: always the same."""
    return _Generator(seed).program()


class _Generator:
    def __init__(self, seed: int):
        self.seed = seed
        self.random = Random(seed)
        sizes = None
        if self.random.random() < 0.25:
            least = self.random.choice([1, 1, 2, 3])
            sizes = least, least + self.random.randint(1, 4)
        self.names = Names(self.random, sizes, {})
        self.store = Store(self.names)
        self.budget = self.random.randint(6, 28)
        """The remaining number of nodes, in all bodies."""
        self.control = self.random.choice([0.0, 0.12, 0.12, 0.25])

    def program(self) -> Program:
        inputs = self._inputs()
        block = Block(self.names, None, [each.var for each in inputs])
        if self.random.random() < 0.4:
            for _ in range(self.random.choice([1, 1, 2])):
                self.store.declare()
        while self.budget > 0:
            self.grow(block, 1)
        outputs = self._outputs(block)
        return Program(
            self.seed, tuple(inputs), tuple(self.store.buffers), block.body(outputs), self.names.sizes
        )

    def _inputs(self) -> list[Input]:
        random = self.random
        found: list[Input] = []
        for at in range(random.choice([1, 2, 2, 3])):
            element = "f32" if at == 0 else random.choice(["f32", "f32", "i64", "i1"])
            shape: list[Size] = [
                random.choice([1, 2, 2, 3, 3, 4]) for _ in range(random.choice([0, 1, 2, 2, 2, 3]))
            ]
            if shape and random.random() < 0.03:
                shape[random.randrange(len(shape))] = 0
            if self.names.sizes is not None and (at == 0 or random.random() < 0.5):
                shape = shape or [1]
                shape[0 if random.random() < 0.7 else random.randrange(len(shape))] = Extent()
            low, high = {"f32": (-2.0, 2.0), "i64": random.choice([(0, 3), (-5, 9)]), "i1": (0, 1)}[element]
            self.names.count += 1
            var = Var(f"x{at}", Type(element, tuple(shape)))
            self.names.facts[var] = Facts(low, high)
            found.append(Input(var, low, high))
        return found

    def grow(self, block: Block, count: int) -> None:
        """Append some random nodes."""
        for _ in range(count):
            self.budget -= 1
            for _ in range(ATTEMPTS):
                mark = len(block.nodes), len(block.own)
                try:
                    self._one(block)
                    break
                except Unfit:
                    # What was made for it has no use.
                    del block.nodes[mark[0] :], block.own[mark[1] :]

    def _one(self, block: Block) -> None:
        chance = self.random.random()
        if block.outer is None and self.store.buffers:
            if chance > 0.9:
                self.store.read(block)
                return
            if chance > 0.8:
                self.store.write(block)
                return
        if self.budget > 0 and self.random.random() < self.control:
            made = self.random.choices(list(CONTROL), list(CONTROL.values()))[0]
            made(block, self.grow)
            return
        table: dict[Callable[[Block], None], int] = VALUES if self.random.random() < 0.6 else SHAPES
        self.random.choices(list(table), list(table.values()))[0](block)

    def _outputs(self, block: Block) -> tuple[Var, ...]:
        """Mostly what nothing else uses."""
        computed = block.own[len(block.params) :]
        if not computed:
            return (block.own[0],)
        last = computed[-1]
        others = [var for var in computed[:-1] if self.random.random() < 0.25]
        return (*others[:4], last)
