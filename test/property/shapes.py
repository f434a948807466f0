"""Random calls of operators that move elements: views, permutations, slices, concatenations, look-ups."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from property.block import Block, Unfit
from property.programs import Extent, Size, Type, Var

__all__ = ["SHAPES"]


def _moved(
    block: Block, operator: str, x: Var, *arguments: object, shape: tuple[Size, ...], copies: bool = False
) -> Var:
    """A call whose result has the elements of `x` in another shape; a view of it, unless it `copies`."""
    facts = block.facts(x)
    return block.call(
        operator,
        x,
        *arguments,  # pyright: ignore[reportArgumentType]
        type=Type(x.type.element, shape),
        low=facts.low,
        high=facts.high,
        contiguous=copies,
    )


def _factors(block: Block, count: int) -> list[int]:
    """Sizes with this product."""
    sizes: list[int] = []
    while count > 1 and len(sizes) < 3:
        divisors = [each for each in range(1, count + 1) if count % each == 0]
        size = block.random.choice(divisors)
        sizes.append(size)
        count //= size
    if count > 1 or (not sizes and block.random.random() < 0.5):
        sizes.append(count)
    return sizes


def reshape(block: Block) -> None:
    """The same elements in the same order."""
    x = block.pick()
    shape = x.type.shape
    dynamic = [size for size in shape if isinstance(size, Extent)]
    if len(dynamic) > 1 or (block.names.is_empty(shape) and dynamic):
        raise Unfit
    rest = math.prod(size for size in shape if isinstance(size, int))
    new: list[Size]
    if dynamic:
        (size,) = dynamic
        part = block.random.choice([each for each in range(1, rest + 1) if rest % each == 0])
        new = [*_factors(block, rest // part)]
        new.insert(block.random.randint(0, len(new)), Extent(size.scale * part, size.offset * part))
        written: list[int] = [-1 if isinstance(each, Extent) else each for each in new]
    elif rest == 0:
        new = [*shape[1:], shape[0]]
        written = [each for each in new if isinstance(each, int)]
    else:
        new = [*_factors(block, rest)]
        written = [each for each in new if isinstance(each, int)]
        if written and block.random.random() < 0.3:
            written[block.random.randrange(len(written))] = -1
    operator = "view" if block.facts(x).contiguous and block.random.random() < 0.6 else "reshape"
    if len(shape) > 1 and not dynamic and rest and block.random.random() < 0.2:
        _moved(block, "flatten.using_ints", x, 0, -1, shape=(rest,))
        return
    result = _moved(block, operator, x, tuple(written), shape=tuple(new))
    block.names.facts[result] = block.facts(result)._replace(contiguous=block.facts(x).contiguous)


def permutation(block: Block) -> None:
    """The same elements in another order of dimensions."""
    x = block.pick(lambda var: len(var.type.shape) > 1)
    shape, rank = x.type.shape, len(x.type.shape)
    if block.random.random() < 0.4:
        one, other = block.random.sample(range(rank), 2)
        new = list(shape)
        new[one], new[other] = shape[other], shape[one]
        _moved(
            block, "transpose.int", x, block.signed(one, rank), block.signed(other, rank), shape=tuple(new)
        )
        return
    order = block.random.sample(range(rank), rank)
    _moved(
        block,
        "permute",
        x,
        tuple(block.signed(dim, rank) for dim in order),
        shape=tuple(shape[dim] for dim in order),
    )


def dimensions_of_one(block: Block) -> None:
    """More of them, or fewer."""
    x = block.pick()
    shape, rank = x.type.shape, len(x.type.shape)
    ones = [dim for dim, size in enumerate(shape) if size == 1]
    if ones and block.random.random() < 0.5:
        dim = block.random.choice(ones)
        _moved(block, "squeeze.dim", x, block.signed(dim, rank), shape=shape[:dim] + shape[dim + 1 :])
        return
    dim = block.random.randint(0, rank)
    _moved(block, "unsqueeze", x, block.signed(dim, rank + 1), shape=(*shape[:dim], 1, *shape[dim:]))


def expansion(block: Block) -> None:
    """The same elements several times."""
    x = block.pick()
    shape = x.type.shape
    if block.random.random() < 0.3 and not block.extents(shape):
        repeats = [block.random.choice([1, 1, 2, 3]) for _ in shape]
        new = tuple(size * each for size, each in zip(shape, repeats, strict=True) if isinstance(size, int))
        _moved(block, "repeat", x, tuple(repeats), shape=new, copies=True)
        return
    sizes = [
        block.random.choice([2, 3]) if size == 1 and block.random.random() < 0.7 else size for size in shape
    ]
    written: list[int] = [
        size if was == 1 and isinstance(size, int) else -1 for size, was in zip(sizes, shape, strict=True)
    ]
    if block.random.random() < 0.5 or tuple(sizes) == shape:
        front = block.random.choice([1, 2, 3])
        sizes, written = [front, *sizes], [front, *written]
    _moved(block, "expand", x, tuple(written), shape=tuple(sizes))


def piece(block: Block) -> None:
    """Part of a tensor."""
    x = block.pick(lambda var: len(var.type.shape) > 0)
    shape, rank = x.type.shape, len(x.type.shape)
    dim = block.dim(x, filled=True)
    size, least, written = shape[dim], block.names.least(shape[dim]), block.signed(dim, rank)
    if block.random.random() < 0.35:
        index = block.random.randrange(least)
        at = index if block.random.random() < 0.7 else -1 - index
        _moved(block, "select.int", x, written, at, shape=shape[:dim] + shape[dim + 1 :])
        return
    start = block.random.randrange(least)
    step = block.random.choice([1, 1, 1, 2])
    if isinstance(size, Extent):
        if block.random.random() < 0.5:
            step = 1
            end, found = 2**63 - 1, Extent(size.scale, size.offset - start)
        else:
            end = block.random.randint(start + 1, least)
            found = -(-(end - start) // step)
    else:
        end = block.random.randint(start, least + 1)
        found = -(-(min(end, size) - start) // step)
        if end > size:
            end = 2**63 - 1
        elif block.random.random() < 0.3 and end < size:
            end -= size
    _moved(
        block, "slice.Tensor", x, written, start, end, step, shape=(*shape[:dim], found, *shape[dim + 1 :])
    )


def several_pieces(block: Block) -> None:
    """A tensor cut up."""
    x = block.pick(lambda var: any(isinstance(size, int) and 1 < size < 5 for size in var.type.shape))
    shape = x.type.shape
    dim = block.random.choice([at for at, size in enumerate(shape) if isinstance(size, int) and 1 < size < 5])
    size = shape[dim]
    assert isinstance(size, int)
    facts = block.facts(x)._replace(contiguous=False)
    if block.random.random() < 0.4:
        types = [Type(x.type.element, shape[:dim] + shape[dim + 1 :])] * size
        block.calls("unbind.int", x, dim, types=types, facts=[facts] * size, is_list=True)
        return
    each = block.random.randint(1, size)
    lengths = [min(each, size - at) for at in range(0, size, each)]
    types = [Type(x.type.element, (*shape[:dim], length, *shape[dim + 1 :])) for length in lengths]
    block.calls("split.Tensor", x, each, dim, types=types, facts=[facts] * len(types), is_list=True)


def _sum(one: Size, other: Size) -> Size:
    if isinstance(one, int) and isinstance(other, int):
        return one + other
    a = one if isinstance(one, Extent) else Extent(0, one)
    b = other if isinstance(other, Extent) else Extent(0, other)
    return Extent(a.scale + b.scale, a.offset + b.offset)


def joining(block: Block) -> None:
    """Tensors one after the other, along a dimension they have or a new one."""
    x = block.pick()
    shape, rank = x.type.shape, len(x.type.shape)
    new = rank == 0 or block.random.random() < 0.4
    dim = block.random.randint(0, rank if new else rank - 1)

    def fits(var: Var) -> bool:
        other = var.type.shape
        if var.type.element != x.type.element or len(other) != rank:
            return False
        return (
            other == shape
            if new
            else all(a == b for at, (a, b) in enumerate(zip(shape, other, strict=True)) if at != dim)
        )

    parts = [x, *(block.pick(fits) for _ in range(block.random.choice([1, 1, 2])))]
    block.random.shuffle(parts)
    facts = [block.facts(part) for part in parts]
    if new:
        found: tuple[Size, ...] = (*shape[:dim], len(parts), *shape[dim:])
    else:
        total: Size = 0
        for part in parts:
            total = _sum(total, part.type.shape[dim])
        found = (*shape[:dim], total, *shape[dim + 1 :])
    written = block.signed(dim, rank + 1 if new else rank)
    block.call(
        "stack" if new else "cat",
        tuple(parts),
        written,
        type=Type(x.type.element, found),
        low=min(each.low for each in facts),
        high=max(each.high for each in facts),
    )


def rearrangement(block: Block) -> None:
    """Elements at other places: mirrored, rolled, padded, cut to a triangle."""
    x = block.pick(lambda var: len(var.type.shape) > 0 and not block.names.is_empty(var.type.shape))
    shape, rank, facts = x.type.shape, len(x.type.shape), block.facts(x)
    dim = block.dim(x)
    match block.random.choice(["flip", "roll", "pad", "triangle"]):
        case "flip":
            _moved(block, "flip", x, (dim,), shape=shape, copies=True)
        case "roll":
            if block.extents(shape):
                raise Unfit
            _moved(block, "roll", x, (block.random.randint(-2, 3),), (dim,), shape=shape, copies=True)
        case "pad":
            if x.type.element == "i1":
                raise Unfit
            before, after = block.random.choice([0, 1, 2]), block.random.choice([0, 1])
            number: float = round(block.random.uniform(-1, 1), 2)
            value = number if x.type.element == "f32" else round(number)
            last = _sum(shape[-1], before + after)
            block.call(
                "constant_pad_nd",
                x,
                (before, after),
                value,
                type=Type(x.type.element, (*shape[:-1], last)),
                low=min(facts.low, value),
                high=max(facts.high, value),
            )
        case _:
            if rank < 2:
                raise Unfit
            name = block.random.choice(["tril", "triu"])
            low, high = min(facts.low, 0.0), max(facts.high, 0.0)
            block.call(name, x, block.random.randint(-1, 1), type=x.type, low=low, high=high)


def look_up(block: Block) -> None:
    """Elements at places that integers say."""
    x = block.pick(lambda var: len(var.type.shape) > 0)
    dim = block.dim(x, filled=True)
    shape, facts = x.type.shape, block.facts(x)
    least = block.names.least(shape[dim])
    match block.random.choice(["index_select", "gather", "index", "embedding"]):
        case "index_select":
            index = block.integers(lambda var: len(var.type.shape) == 1)
            index = block.bounded(index, 0, least - 1)
            found = (*shape[:dim], index.type.shape[0], *shape[dim + 1 :])
            _moved(block, "index_select", x, dim, index, shape=found, copies=True)
        case "gather":
            index = block.integers(
                lambda var: (
                    len(var.type.shape) == len(shape)
                    and all(
                        a == b
                        for at, (a, b) in enumerate(zip(var.type.shape, shape, strict=True))
                        if at != dim
                    )
                )
            )
            index = block.bounded(index, 0, least - 1)
            _moved(block, "gather", x, dim, index, shape=index.type.shape, copies=True)
        case "index":
            index = block.bounded(block.integers(), 0, block.names.least(shape[0]) - 1)
            if block.names.least(shape[0]) < 1:
                raise Unfit
            _moved(block, "index.Tensor", x, (index,), shape=(*index.type.shape, *shape[1:]), copies=True)
        case _:
            if x.type.element != "f32" or len(shape) != 2 or block.extents(shape) or dim != 0:
                raise Unfit
            index = block.bounded(block.integers(), 0, least - 1)
            block.call(
                "embedding",
                x,
                index,
                type=Type("f32", (*index.type.shape, shape[1])),
                low=facts.low,
                high=facts.high,
            )


def creation(block: Block) -> None:
    """A tensor of numbers that are known, or of the shape of another."""
    if block.random.random() < 0.3:
        x = block.pick(lambda var: var.type.element != "i1")
        name, value = block.random.choice([("zeros_like", 0), ("ones_like", 1)])
        block.like(name, x, low=value, high=value)
        return
    if block.random.random() < 0.4:
        count = block.random.randint(1, 4)
        block.call("arange", count, type=Type("i64", (count,)), low=0, high=count - 1)
        return
    shape = tuple(block.random.choice([1, 2, 3]) for _ in range(block.random.randint(0, 2)))
    element = block.random.choice(["f32", "i64"])
    value = round(block.random.uniform(-2, 2), 2) if element == "f32" else block.random.randint(-2, 4)
    block.constant(Type(element, shape), value)


SHAPES: Final[dict[Callable[[Block], None], int]] = {
    reshape: 5,
    permutation: 4,
    dimensions_of_one: 3,
    expansion: 3,
    piece: 6,
    several_pieces: 2,
    joining: 4,
    rearrangement: 2,
    look_up: 3,
    creation: 2,
}
"""Productions and their weights."""
