"""Random control flow: conditions, loops, maps and scans, whose bodies are random programs again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from property.block import FLOATS, INTEGERS, Block, Facts, Unfit
from property.programs import Body, Cond, Map, Scan, Type, Var, While

__all__ = ["CONTROL", "Grow"]

Grow = Callable[[Block, int], None]
"""Appends some random nodes to a block."""

MAX_DEPTH: Final = 3
TURNS: Final = 4


def _body(block: Block, grow: Grow, params: Sequence[Var] = ()) -> Block:
    inner = Block(block.names, block, params)
    grow(inner, block.random.randint(1, 4))
    return inner


def _interval(element: str) -> tuple[float, float]:
    return {"f32": FLOATS, "i64": INTEGERS, "i1": (0, 1)}[element]


def _check_depth(block: Block) -> None:
    if block.depth >= MAX_DEPTH:
        raise Unfit


def predicate(block: Block) -> Var | int:
    """The condition of a branch: the data, or a dynamic size."""
    sizes = block.names.sizes
    if sizes is not None and block.random.random() < 0.25:
        return block.random.randint(sizes[0], sizes[1] - 1)
    ones = [var for var in block.visible() if var.type == Type("i1")]
    if ones and block.random.random() < 0.4:
        return block.random.choice(ones)
    return block.scalar("i1")


def cond(block: Block, grow: Grow) -> None:
    """One of two bodies: with several results, which may be what a branch sees, or one value twice."""
    _check_depth(block)
    decides = predicate(block)
    then = _body(block, grow)
    chosen = [
        block.random.choice(then.own[-4:]) if then.own and block.random.random() < 0.8 else then.pick()
        for _ in range(block.random.choice([1, 1, 2, 3]))
    ]
    otherwise = _body(block, grow)
    outputs: list[Var] = []
    facts: list[Facts] = []
    for at, var in enumerate(chosen):
        low, high = _interval(var.type.element)
        kept = then.bounded(var, low, high) if var.type.element != "i1" else var
        chosen[at] = kept
        outputs.append(otherwise.of_type(var.type, low, high, reuse=0.7))
        facts.append(Facts(low, high))
    results = tuple(block.names.var(var.type, each) for var, each in zip(chosen, facts, strict=True))
    block.add(Cond(results, decides, then.body(chosen), otherwise.body(outputs)))


def _carried(block: Block, count: int) -> tuple[list[Var], list[Var]]:
    """Initial values, and parameters for them. What is carried stays in its range."""
    inits: list[Var] = []
    params: list[Var] = []
    for _ in range(count):
        var = block.pick()
        low, high = _interval(var.type.element)
        if var.type.element != "i1":
            var = block.bounded(var, low, high)
        inits.append(var)
        params.append(block.names.var(var.type, Facts(low, high)))
    return inits, params


def _next(inner: Block, params: Sequence[Var]) -> list[Var]:
    """Loop-carried values of the next iteration: a new value, or another parameter."""
    found: list[Var] = []
    for param in params:
        low, high = _interval(param.type.element)
        newer = [var for var in inner.own if var.type == param.type and var not in params]
        if newer and inner.random.random() < 0.8:
            var = inner.random.choice(newer[-3:])
            found.append(var if param.type.element == "i1" else inner.bounded(var, low, high))
        else:
            found.append(inner.of_type(param.type, low, high, reuse=0.6))
    return found


def while_loop(block: Block, grow: Grow) -> None:
    """A loop that counts, to a number that may be the data's, and may end before."""
    _check_depth(block)
    names = block.names
    start = (
        block.of_type(Type("i64"), 0, 2) if block.random.random() < 0.4 else block.constant(Type("i64"), 0)
    )
    limit: Var | int = block.random.randint(0, TURNS)
    if block.random.random() < 0.4:
        limit = block.of_type(Type("i64"), 0, TURNS)
    inits, params = _carried(block, block.random.choice([1, 1, 2, 3]))

    counter = names.var(Type("i64"), Facts(0, TURNS))
    condition = Block(names, block, [counter, *(names.var(var.type, names.facts[var]) for var in params)])
    ends = (
        condition.call("lt.Tensor", counter, limit, type=Type("i1"), low=0, high=1)
        if isinstance(limit, Var)
        else condition.call("lt.Scalar", counter, limit, type=Type("i1"), low=0, high=1)
    )
    if block.random.random() < 0.3:
        grow(condition, 1)
        ends = condition.call("logical_and", ends, condition.scalar("i1"), type=Type("i1"), low=0, high=1)

    turn = names.var(Type("i64"), Facts(0, TURNS))
    inner = _body(block, grow, [turn, *params])
    outputs = _next(inner, params)
    step = inner.like("add.Tensor", turn, block.random.choice([1, 1, 2]), low=1, high=TURNS + 2)
    results = [names.var(Type("i64"), Facts(0, TURNS + 2))]
    results += [names.var(var.type, names.facts[var]) for var in params]
    block.add(While(tuple(results), (start, *inits), condition.body([ends]), inner.body([step, *outputs])))


def _sequences(block: Block) -> tuple[list[Var], list[Var]]:
    """Tensors to go over together, and parameters for their slices."""
    least = block.names.least
    first = block.pick(lambda var: len(var.type.shape) > 0 and least(var.type.shape[0]) > 0)
    found = [first]
    if block.random.random() < 0.4:
        length = first.type.shape[0]
        found.append(block.pick(lambda var: len(var.type.shape) > 0 and var.type.shape[0] == length))
    params = [
        block.names.var(
            Type(var.type.element, var.type.shape[1:]), block.facts(var)._replace(contiguous=False)
        )
        for var in found
    ]
    return found, params


def _items(inner: Block) -> list[Var]:
    """The stacked outputs of an iteration."""
    count = inner.random.choice([1, 1, 2])
    return [inner.random.choice(inner.own[-3:]) for _ in range(count)]


def _stacks(block: Block, items: Sequence[Var], first: Var) -> list[Var]:
    length = first.type.shape[0]
    found: list[Var] = []
    for item in items:
        type = Type(item.type.element, (length, *item.type.shape))
        if len(type.shape) > 4 or block.names.count_of(type.shape) > 128:
            raise Unfit
        found.append(block.names.var(type, block.facts(item)._replace(contiguous=True)))
    return found


def map_(block: Block, grow: Grow) -> None:
    """A body for each slice."""
    _check_depth(block)
    sequences, params = _sequences(block)
    inner = _body(block, grow, params)
    items = _items(inner)
    block.add(Map(tuple(_stacks(block, items, sequences[0])), tuple(sequences), inner.body(items)))


def scan(block: Block, grow: Grow) -> None:
    """A body for each slice, with a state."""
    _check_depth(block)
    sequences, slices = _sequences(block)
    inits, params = _carried(block, block.random.choice([1, 1, 2]))
    inner = _body(block, grow, [*params, *slices])
    outputs = _next(inner, params)
    items = _items(inner)
    carried = [block.names.var(var.type, block.facts(var)) for var in params]
    stacked = _stacks(block, items, sequences[0])
    body: Body = inner.body([*outputs, *items])
    block.add(Scan((*carried, *stacked), tuple(inits), tuple(sequences), body))


CONTROL: Final[dict[Callable[[Block, Grow], None], int]] = {cond: 7, while_loop: 5, map_: 3, scan: 4}
"""Productions and their weights."""
