"""Random calls of operators on elements: functions, arithmetic, comparisons, reductions, products of matrices."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from property.block import FLOATS, LIMITS, Block, Facts, Unfit, broadcast
from property.programs import Argument, Size, Type, Var

__all__ = ["VALUES"]

Range = tuple[float, float]


def _increasing(function: Callable[[float], float]) -> Callable[[float, float], Range]:
    return lambda low, high: (function(low), function(high))


def _within(low: float, high: float) -> Callable[[float, float], Range]:
    return lambda _low, _high: (low, high)


def _not_far(low: float, high: float) -> Range:
    """Functions that are close to what they get, or to zero."""
    return min(low, -1.0), max(high, 1.0)


def _absolute(low: float, high: float) -> Range:
    least = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
    return least, max(abs(low), abs(high))


FUNCTIONS: Final[dict[str, tuple[float, float, Callable[[float, float], Range]]]] = {
    "neg": (-math.inf, math.inf, lambda low, high: (-high, -low)),
    "abs": (-math.inf, math.inf, _absolute),
    "relu": (-math.inf, math.inf, _increasing(lambda x: max(x, 0.0))),
    "tanh": (-math.inf, math.inf, _increasing(math.tanh)),
    "sigmoid": (-math.inf, math.inf, _within(0.0, 1.0)),
    "sin": (-8, 8, _within(-1.0, 1.0)),
    "cos": (-8, 8, _within(-1.0, 1.0)),
    "exp": (-4, 3, _increasing(math.exp)),
    "sqrt": (0.05, math.inf, _increasing(math.sqrt)),
    "rsqrt": (0.1, math.inf, lambda low, high: (high**-0.5, low**-0.5)),
    "log": (0.1, math.inf, _increasing(math.log)),
    "reciprocal": (0.1, math.inf, lambda low, high: (1 / high, 1 / low)),
    "gelu": (-8, 8, _not_far),
    "silu": (-8, 8, _not_far),
    "hardtanh": (-math.inf, math.inf, _within(-1.0, 1.0)),
    "hardsigmoid": (-math.inf, math.inf, _within(0.0, 1.0)),
    "hardswish": (-math.inf, math.inf, _not_far),
    "erf": (-8, 8, _within(-1.0, 1.0)),
    "leaky_relu": (-math.inf, math.inf, lambda low, high: (low, high)),
    "square": (-5, 5, lambda low, high: (0.0, max(low * low, high * high))),
    "floor": (-math.inf, math.inf, lambda low, high: (low - 1, high)),
    "round": (-math.inf, math.inf, lambda low, high: (low - 1, high + 1)),
    "trunc": (-math.inf, math.inf, lambda low, high: (min(low, 0.0), max(high, 0.0))),
    "sign": (-math.inf, math.inf, _within(-1.0, 1.0)),
}
"""Functions of one float: the range they take, and from that of an argument to that of the result."""


def _positive(block: Block, x: Var) -> Var:
    """Numbers of at least a half, made of any."""
    if _absolute(*block.facts(x)[:2])[1] + 0.5 > LIMITS["f32"]:
        x = block.bounded(x, *FLOATS)  # Now, as the sum below would be brought into a range around zero.
    low, high = _absolute(*block.facts(x)[:2])
    x = block.like("abs", x, low=low, high=high)
    return block.like("add.Tensor", x, 0.5, low=low + 0.5, high=high + 0.5)


def function(block: Block) -> None:
    """A function of each element."""
    name = block.random.choice(list(FUNCTIONS))
    low, high, result = FUNCTIONS[name]
    x = block.floats()
    facts = block.facts(x)
    if facts.low < low and low >= 0:
        x = _positive(block, x)
    elif facts.low < low or facts.high > high:
        x = block.bounded(x, low, high)
    facts = block.facts(x)
    least, most = result(facts.low, facts.high)
    block.like(name, x, low=least, high=most)


def _numbers(block: Block, x: Var) -> tuple[Argument, Facts]:
    """A Python number to compute with a tensor."""
    if x.type.element == "f32" and block.random.random() < 0.8:
        number: float = round(block.random.uniform(-2, 2), 2)
    else:
        number = block.random.randint(-3, 5)
    return number, Facts(number, number)


def _partner(block: Block, x: Var, fits: Callable[[Var], bool]) -> tuple[Var, tuple[Size, ...]]:
    """Another operand for `x`, and the shape of the result."""
    y = block.pick(lambda var: fits(var) and broadcast(x.type.shape, var.type.shape) is not None)
    shape = broadcast(x.type.shape, y.type.shape)
    assert shape is not None
    return y, shape


def _products(one: Facts, other: Facts) -> Range:
    corners = [a * b for a in (one.low, one.high) for b in (other.low, other.high)]
    return min(corners), max(corners)


def _arithmetic_range(name: str, one: Facts, other: Facts) -> Range:
    match name:
        case "add":
            return one.low + other.low, one.high + other.high
        case "sub":
            return one.low - other.high, one.high - other.low
        case "mul":
            return _products(one, other)
        case "maximum":
            return max(one.low, other.low), max(one.high, other.high)
        case _:
            return min(one.low, other.low), min(one.high, other.high)


def arithmetic(block: Block) -> None:
    """Two tensors of numbers, or one and a number: types are promoted, shapes broadcast."""
    name = block.random.choice(["add", "sub", "mul", "maximum", "minimum"])
    x = block.pick(lambda var: var.type.element != "i1")
    shape, y = x.type.shape, None
    if name in ("add", "sub", "mul") and block.random.random() < 0.4:
        other, facts = _numbers(block, x)
        element = "f32" if isinstance(other, float) else x.type.element
    else:
        same = 0.8 if name in ("add", "sub", "mul") else 1.0
        one_type = block.random.random() < same
        y, shape = _partner(
            block, x, lambda v: v.type.element == x.type.element if one_type else v.type.element != "i1"
        )
        other, facts = y, block.facts(y)
        element = "f32" if "f32" in (x.type.element, y.type.element) else "i64"
    operator = name if name in ("maximum", "minimum") else f"{name}.Tensor"
    low, high = _arithmetic_range(name, block.facts(x), facts)
    contiguous = block.facts(x).contiguous and (y is None or block.facts(y).contiguous)
    block.call(operator, x, other, type=Type(element, shape), low=low, high=high, contiguous=contiguous)


def division(block: Block) -> None:
    """By what is not near zero; of integers, rounded down."""
    if block.random.random() < 0.3:
        x = block.integers()
        divisor = block.random.choice([2, 3, 5])
        facts = block.facts(x)
        if block.random.random() < 0.5:
            block.like("remainder.Scalar", x, divisor, low=0, high=divisor - 1)
        else:
            low, high = math.floor(facts.low / divisor), math.floor(facts.high / divisor)
            block.like("floor_divide", x, divisor, low=low, high=high)
        return
    x = block.floats()
    y, shape = _partner(block, x, lambda var: var.type.element == "f32")
    if block.facts(y).low < 0.4:
        y = _positive(block, y)
    facts = block.facts(y)
    low, high = _products(block.facts(x), Facts(1 / facts.high, 1 / facts.low))
    contiguous = block.facts(x).contiguous and facts.contiguous
    block.call("div.Tensor", x, y, type=Type("f32", shape), low=low, high=high, contiguous=contiguous)


def comparison(block: Block) -> None:
    """Of two tensors, or with a number."""
    name = block.random.choice(["gt", "ge", "lt", "le", "eq", "ne"])
    x = block.pick(lambda var: var.type.element == "i64" or (var.type.element == "f32" and name[0] in "gl"))
    if block.random.random() < 0.5:
        number, _ = _numbers(block, x)
        block.call(
            f"{name}.Scalar",
            x,
            number,
            type=Type("i1", x.type.shape),
            low=0,
            high=1,
            contiguous=block.facts(x).contiguous,
        )
        return
    y, shape = _partner(block, x, lambda var: var.type.element == x.type.element and var is not x)
    block.call(f"{name}.Tensor", x, y, type=Type("i1", shape), low=0, high=1, contiguous=False)


def logic(block: Block) -> None:
    """Of booleans."""
    p = block.pick(lambda var: var.type.element == "i1")
    if block.random.random() < 0.3:
        block.like(block.random.choice(["logical_not", "bitwise_not"]), p, low=0, high=1)
        return
    q, shape = _partner(block, p, lambda var: var.type.element == "i1")
    name = block.random.choice(
        ["logical_and", "logical_or", "logical_xor", "bitwise_and.Tensor", "bitwise_xor.Tensor"]
    )
    block.call(name, p, q, type=Type("i1", shape), low=0, high=1, contiguous=False)


def choice(block: Block) -> None:
    """Elements of one tensor or another."""
    p = block.pick(lambda var: var.type.element == "i1")
    x, shape = _partner(block, p, lambda var: var.type.element != "i1")
    facts = block.facts(x)
    if x.type.shape == shape and block.random.random() < 0.3:
        value = block.random.randint(-2, 2)
        low, high = min(facts.low, value), max(facts.high, value)
        block.like("masked_fill.Scalar", x, p, value, low=low, high=high)
        return
    y = block.pick(lambda v: v.type.element == x.type.element and broadcast(v.type.shape, shape) is not None)
    full = broadcast(y.type.shape, shape)
    assert full is not None
    other = block.facts(y)
    block.call(
        "where.self",
        p,
        x,
        y,
        type=Type(x.type.element, full),
        low=min(facts.low, other.low),
        high=max(facts.high, other.high),
        contiguous=False,
    )


def conversion(block: Block) -> None:
    """Another element type."""
    x = block.pick()
    element = block.random.choice([each for each in ("f32", "i64", "i1") if each != x.type.element])
    block.converted(x, element)


def limits(block: Block) -> None:
    """Numbers brought into a range."""
    x = block.pick(lambda var: var.type.element != "i1")
    low = block.random.randint(-3, 0)
    high = low + block.random.randint(1, 4)
    number: Callable[[float], float] = float if x.type.element == "f32" else int
    bounds: tuple[Argument, ...] = (number(low), number(high))
    facts = block.facts(x)
    least, most = min(max(facts.low, low), high), min(max(facts.high, low), high)
    if block.random.random() < 0.2:
        bounds, most = (number(low),), max(facts.high, low)
    block.like("clamp", x, *bounds, low=least, high=most)


def _reduced(shape: Sequence[Size], dim: int, *, keep: bool) -> tuple[Size, ...]:
    return (*shape[:dim], *((1,) if keep else ()), *shape[dim + 1 :])


def reduction(block: Block) -> None:
    """Along a dimension, or two of them, or all."""
    name = block.random.choice(
        ["sum", "mean", "amax", "amin", "any", "argmax", "max", "logsumexp", "var", "sum"]
    )
    wanted = {"any": ("i1",), "sum": ("f32", "i64", "i1")}.get(name, ("f32",))
    filled = name not in ("any", "sum")
    x = block.pick(lambda var: var.type.element in wanted and len(var.type.shape) > 0)
    dim = block.dim(x, filled=filled)
    shape, facts = x.type.shape, block.facts(x)
    count, keep = block.names.most(shape[dim]), block.random.random() < 0.5
    written = block.signed(dim, len(shape))
    result = _reduced(shape, dim, keep=keep)
    match name:
        case "sum":
            element = "f32" if x.type.element == "f32" else "i64"
            low, high = min(0.0, facts.low * count), max(0.0, facts.high * count)
            block.call("sum.dim_IntList", x, (written,), keep, type=Type(element, result), low=low, high=high)
        case "mean" | "amax" | "amin":
            dims: tuple[int, ...] = (written,)
            rest = [at for at, size in enumerate(shape) if at != dim and block.names.least(size) > 0]
            if rest and block.random.random() < 0.3:
                other = block.random.choice(rest)
                dims = (dim, other)
                result = _reduced(_reduced(shape, max(dims), keep=keep), min(dims), keep=keep)
            operator = "mean.dim" if name == "mean" else name
            block.call(operator, x, dims, keep, type=Type("f32", result), low=facts.low, high=facts.high)
        case "any":
            block.call("any.dim", x, written, keep, type=Type("i1", result), low=0, high=1)
        case "argmax":
            operator = block.random.choice(["argmax", "argmin"])
            block.call(operator, x, written, keep, type=Type("i64", result), low=0, high=count - 1)
        case "max":
            types = [Type("f32", result), Type("i64", result)]
            block.calls(
                block.random.choice(["max.dim", "min.dim"]),
                x,
                written,
                keep,
                types=types,
                facts=[facts._replace(contiguous=True), Facts(0, count - 1)],
            )
        case "logsumexp":
            low, high = facts.low, facts.high + math.log(max(count, 1))
            block.call("logsumexp", x, (written,), keep, type=Type("f32", result), low=low, high=high)
        case _:
            spread = (facts.high - facts.low) ** 2
            if block.names.least(shape[dim]) < 2 or spread > 32 or block.names.is_empty(shape):
                raise Unfit
            block.call(
                "var.correction", x, (written,), 1, keep, type=Type("f32", result), low=0.0, high=spread
            )


def normalisation(block: Block) -> None:
    """Along a dimension, of the same shape."""
    x = block.floats(lambda var: len(var.type.shape) > 0)
    dim = block.dim(x, filled=True)
    written, rank = block.signed(dim, len(x.type.shape)), len(x.type.shape)
    facts, count = block.facts(x), block.names.most(x.type.shape[dim])
    match block.random.choice(["softmax", "log_softmax", "cumsum", "layer_norm"]):
        case "softmax":
            block.like("softmax.int", x, written, low=0.0, high=1.0)
        case "log_softmax":
            low = facts.low - facts.high - math.log(max(count, 1))
            block.like("log_softmax.int", x, written, low=low, high=0.0)
        case "cumsum":
            low, high = min(facts.low, facts.low * count), max(facts.high, facts.high * count)
            block.like("cumsum", x, written, low=low, high=high)
        case _:
            last = x.type.shape[-1]
            if not isinstance(last, int) or last < 2 or rank < 1:
                raise Unfit
            # An epsilon that numbers which are all the same do not make noise of.
            block.like("layer_norm", x, (last,), None, None, 0.1, low=-4.0, high=4.0)


def order(block: Block) -> None:
    """Elements of a dimension in order, or the largest of them, and where they were."""
    name = block.random.choice(["sort.stable", "sort", "topk", "argsort.stable"])
    # Which of equal elements comes first is said of stable orders only, and integers are often equal.
    stable = name.endswith("stable")
    x = block.pick(lambda v: len(v.type.shape) > 0 and (v.type.element == "f32" or stable))
    if name != "topk" and block.extents(x.type.shape):
        raise Unfit  # The stock runtime has no kernel for it; fixed sizes are sorted by others.
    dim = block.dim(x, filled=True)
    shape, facts = x.type.shape, block.facts(x)._replace(contiguous=True)
    written, reverse = block.signed(dim, len(shape)), block.random.random() < 0.5
    places = Facts(0, block.names.most(shape[dim]) - 1)
    if name == "argsort.stable":
        block.call(name, x, True, written, reverse, type=Type("i64", shape), low=0, high=places.high)
        return
    arguments: tuple[Argument, ...] = (True, written, reverse) if stable else (written, reverse)
    if name == "topk":
        count = block.random.randint(1, block.names.least(shape[dim]))
        shape, arguments = (*shape[:dim], count, *shape[dim + 1 :]), (count, written, reverse)
    types = [Type(x.type.element, shape), Type("i64", shape)]
    block.calls(name, x, *arguments, types=types, facts=[facts, places])


def product(block: Block) -> None:
    """Of matrices, of batches of them, with a vector."""
    x = block.floats(lambda var: len(var.type.shape) in (2, 3))
    *batch, rows, inner = x.type.shape
    if block.random.random() < 0.3 and len(batch) == 0:
        other = block.floats(lambda var: var.type.shape == (inner,))
        name, shape = "mv", (rows,)
    elif batch and block.random.random() < 0.5:
        other = block.floats(lambda v: len(v.type.shape) == 3 and v.type.shape[:2] == (batch[0], inner))
        name, shape = "bmm", (*batch, rows, other.type.shape[2])
    elif block.random.random() < 0.5:
        other = block.floats(lambda var: len(var.type.shape) == 2 and var.type.shape[1] == inner)
        if any(not isinstance(size, int) for size in other.type.shape):
            raise Unfit
        name, shape = "linear", (*batch, rows, other.type.shape[0])
    else:
        other = block.floats(lambda var: len(var.type.shape) == 2 and var.type.shape[0] == inner)
        name, shape = "matmul" if batch else "mm", (*batch, rows, other.type.shape[1])
    size = max(abs(each) for var in (x, other) for each in block.facts(var)[:2])
    bound = block.names.most(inner) * size * size
    if bound > 500:
        raise Unfit
    block.call(name, x, other, type=Type("f32", tuple(shape)), low=-bound, high=bound)


VALUES: Final[dict[Callable[[Block], None], int]] = {
    function: 8,
    arithmetic: 10,
    division: 2,
    comparison: 3,
    logic: 2,
    choice: 3,
    conversion: 3,
    limits: 2,
    reduction: 6,
    normalisation: 2,
    order: 2,
    product: 3,
}
"""Productions and their weights."""
