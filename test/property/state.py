"""Random state: buffers that are read, overwritten, and written in part, as caches are."""

from __future__ import annotations

from property.block import FLOATS, INTEGERS, Block, Facts, Names
from property.programs import Argument, Buffer, Read, Type, Update, Var

__all__ = ["Store"]


class Store:
    """The buffers of a program under construction."""

    def __init__(self, names: Names):
        self.names = names
        self.random = names.random
        self.buffers: list[Buffer] = []
        self._facts: dict[Buffer, Facts] = {}
        self._added: set[Buffer] = set()

    def declare(self) -> None:
        """Make a buffer. Those of one integer are positions and counts."""
        random = self.random
        element = random.choice(["f32", "f32", "f32", "i64", "i1"])
        shape = tuple(random.choice([1, 2, 3, 4]) for _ in range(random.randint(1, 3)))
        if random.random() < 0.25:
            element, shape = "i64", ()
        count = 1
        for size in shape:
            count *= size
        initial: tuple[float, ...] | None = None
        if random.random() < 0.5:
            initial = tuple(
                round(random.uniform(-2, 2), 2) if element == "f32" else random.randint(0, 1)
                for _ in range(count)
            )
        buffer = Buffer(f"b{len(self.buffers)}", Type(element, shape), initial)
        # What is added in each run comes on top of what is written.
        low, high = {"f32": (-16.0, 16.0), "i64": (-60, 60), "i1": (0, 1)}[element]
        if element == "i64" and not shape:
            low = 0
        self.buffers.append(buffer)
        self._facts[buffer] = Facts(low, high)

    def read(self, block: Block) -> Var:
        """Read a buffer."""
        buffer = self.random.choice(self.buffers)
        var = self.names.var(buffer.type, self._facts[buffer])
        block.add(Read((var,), buffer))
        return var

    def write(self, block: Block) -> None:
        """Write a buffer, or a part of it. Raises `Unfit`."""
        buffer = self.random.choice(self.buffers)
        shape = buffer.type.shape
        kinds = ["copy"]
        if buffer.type.element != "i1" and buffer not in self._added:
            kinds += ["add", "add"]
        if shape:
            kinds += ["slice", "slice", "select", "index_put", "index_put", "index_copy"]
        kind = self.random.choice(kinds)
        if kind == "add":
            self._added.add(buffer)
            value = self._value(block, Type(buffer.type.element, shape), 2)
            self._update(block, buffer, kind, value)
            return
        if kind == "copy":
            self._update(block, buffer, kind, self._value(block, self._broadcastable(buffer.type)))
            return
        dim = self.random.randrange(len(shape))
        size = shape[dim]
        assert isinstance(size, int)
        match kind:
            case "slice":
                start = self.random.randrange(size)
                end = self.random.randint(start + 1, size)
                part = Type(buffer.type.element, (*shape[:dim], end - start, *shape[dim + 1 :]))
                self._update(block, buffer, kind, dim, start, end, self._value(block, part))
            case "select":
                part = Type(buffer.type.element, shape[:dim] + shape[dim + 1 :])
                at = self.random.randrange(-size, size)
                self._update(block, buffer, kind, dim, at, self._value(block, part))
            case _:
                # In the direction of a cache, positions are in a dimension behind the first.
                index = self._positions(block, size)
                length = index.type.shape[0]
                part = Type(buffer.type.element, (*shape[:dim], length, *shape[dim + 1 :]))
                if kind == "index_copy":
                    self._update(block, buffer, kind, dim, index, self._value(block, part))
                    return
                indices: list[Var | None] = [None] * dim
                value = self._value(block, part)
                self._update(block, buffer, kind, (*indices, index), value)  # pyright: ignore[reportArgumentType]

    def _positions(self, block: Block, size: int) -> Var:
        """Different places along a dimension."""
        place = block.index(size)
        if self.random.random() < 0.6 or size == 1:
            return block.call("unsqueeze", place, 0, type=Type("i64", (1,)), low=0, high=size - 1)
        count = self.random.randint(1, size)
        places = block.call("arange", count, type=Type("i64", (count,)), low=0, high=count - 1)
        places = block.like("add.Tensor", places, place, low=0, high=size + count)
        return block.like("remainder.Scalar", places, size, low=0, high=size - 1)

    def _broadcastable(self, type: Type) -> Type:
        if self.random.random() < 0.7:
            return type
        return Type(type.element, type.shape[self.random.randint(0, len(type.shape)) :])

    def _value(self, block: Block, type: Type, most: float | None = None) -> Var:
        low, high = {"f32": FLOATS, "i64": INTEGERS, "i1": (0, 1)}[type.element]
        if type == Type("i64"):
            low = 0
        if most is not None:
            low, high = max(low, -most), most
        return block.of_type(type, low, high)

    def _update(self, block: Block, buffer: Buffer, kind: str, *arguments: Argument) -> None:
        block.nodes.append(Update(buffer, kind, arguments))
