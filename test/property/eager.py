"""A program run by torch, one operator after the other, with Python's `if` and `while`: what it means.

Programs whose results would be a matter of rounding cannot be compared. They are found here: numbers that are compared
or rounded and lie closer together than rounding can move them, and results that change when everything is computed in
64 bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from property.programs import DTYPES, Program, size_at
from property.source import HEADER, python

__all__ = ["Run", "Unsteady", "WrongType", "draw_inputs", "eager_runs", "model"]

MAX_TURNS: Final = 100
"""Loops that turn more often are no programs of ours: what has been shrunk may no longer end."""

MARGIN: Final = 1e-4
"""Minimum distance of compared numbers, unless they are equal."""

LARGEST: Final = 1e4
PRECISION: Final = 2e-5
"""Tolerances of results in 32 and 64 bits: absolute, and relative to the larger number."""


class Unsteady(Exception):
    """Results of a program for these inputs depend on rounding."""


class WrongType(Exception):
    """A value has not the type that the program says: the generator, or a change to a program, is wrong."""


@dataclass(frozen=True)
class Run:
    """Inputs, and the results for them after all runs before."""

    n: int
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    state: tuple[Tensor, ...]
    """The buffers' contents afterwards."""


# -- Python's control flow in the place of torch's


def _cond(predicate: Any, then: Callable[..., Any], otherwise: Callable[..., Any], operands: Any) -> Any:
    return then(*operands) if bool(predicate) else otherwise(*operands)


def _while_loop(condition: Callable[..., Any], body: Callable[..., Any], values: Any) -> Any:
    for _ in range(MAX_TURNS):
        if not bool(condition(*values)):
            return values
        values = body(*values)
    raise WrongType(f"a loop turns more than {MAX_TURNS} times")


def _map(body: Callable[..., Any], sequences: Sequence[Tensor]) -> Any:
    items = [body(tuple(each)) for each in zip(*sequences, strict=True)]
    return tuple(torch.stack(each) for each in zip(*items, strict=True))


def _scan(body: Callable[..., Any], state: Any, sequences: Sequence[Tensor]) -> Any:
    items: list[Any] = []
    for each in zip(*sequences, strict=True):
        state, item = body(state, tuple(each))
        items.append(item)
    return state, tuple(torch.stack(each) for each in zip(*items, strict=True))


PYTHON: Final = {"cond": _cond, "while_loop": _while_loop, "map_": _map, "scan": _scan}


def model(text: str, *, plain: bool) -> nn.Module:
    """The module of a program's Python: with `plain`, its control flow is Python's, and not torch's."""
    namespace: dict[str, Any] = {}
    exec(HEADER, namespace)
    if plain:
        namespace.update(PYTHON)
    exec(compile(text, "<program>", "exec"), namespace)
    return namespace["Model"]()


# -- running


def draw_inputs(program: Program, n: int, random: Random) -> tuple[Tensor, ...]:
    """Inputs of the sizes for `n`, drawn from the ranges of the program."""
    drawn: list[Tensor] = []
    for each in program.inputs:
        type = each.var.type
        sizes = type.sizes(n)
        count = math.prod(sizes)
        if type.element == "f32":
            values = [round(random.uniform(each.low, each.high), 3) for _ in range(count)]
        else:
            values = [random.randint(int(each.low), int(each.high)) for _ in range(count)]
        drawn.append(torch.tensor(values, dtype=DTYPES[type.element]).reshape(sizes))
    return tuple(drawn)


def eager_runs(program: Program, count: int) -> list[Run]:
    """Results of several runs of a program. Sizes go from the largest to the smallest and between.

    Raises `Unsteady`, `WrongType`, and what torch raises for a program that is none.
    """
    random = Random(program.seed)
    low, high = program.sizes or (0, 0)
    sizes = [high, low, (low + high) // 2]
    plan = [(sizes[at % 3], draw_inputs(program, sizes[at % 3], random)) for at in range(count)]
    text = python(program)
    with _Margins():
        runs = _runs(program, text, plan)
    doubled = [(n, tuple(map(_double, inputs))) for n, inputs in plan]
    torch.set_default_dtype(torch.float64)
    try:
        exact = _runs(program, text.replace("float32", "float64"), doubled)
    except (RuntimeError, IndexError) as error:
        raise Unsteady(f"in 64 bits: {error}") from None
    finally:
        torch.set_default_dtype(torch.float32)
    for run, other in zip(runs, exact, strict=True):
        _check_types(program, run)
        for value, wanted in zip((*run.outputs, *run.state), (*other.outputs, *other.state), strict=True):
            _check_steady(value, wanted)
    return runs


def _double(value: Tensor) -> Tensor:
    return value.double() if value.is_floating_point() else value


def _runs(program: Program, text: str, plan: Sequence[tuple[int, tuple[Tensor, ...]]]) -> list[Run]:
    module = model(text, plain=True)
    runs: list[Run] = []
    with torch.no_grad():
        for n, inputs in plan:
            outputs = tuple(each.clone() for each in module(*inputs))
            state = tuple(getattr(module, buffer.name).clone() for buffer in program.buffers)
            runs.append(Run(n, inputs, outputs, state))
    return runs


def _check_types(program: Program, run: Run) -> None:
    for var, value in zip(program.body.outputs, run.outputs, strict=True):
        wanted = tuple(size_at(size, run.n) for size in var.type.shape)
        if tuple(value.shape) != wanted or value.dtype != DTYPES[var.type.element]:
            raise WrongType(f"{var.name} is {value.dtype} {list(value.shape)}, declared {var.type}")


def _check_steady(value: Tensor, wanted: Tensor) -> None:
    if not value.is_floating_point():
        if not torch.equal(value, wanted):
            raise Unsteady("a number that is not rounded differs in 64 bits")
        return
    if value.numel() and not bool(wanted.abs().max() < LARGEST):
        raise Unsteady("a result is large, or none")
    if not torch.allclose(value.double(), wanted, rtol=PRECISION, atol=PRECISION):
        raise Unsteady("a result differs in 64 bits")


COMPARISONS: Final = frozenset({"gt", "ge", "lt", "le", "eq", "ne"})
ROUNDINGS: Final = frozenset({"floor", "ceil", "round", "trunc", "sign", "to", "_to_copy", "remainder"})
ORDERS: Final = frozenset({"max", "min", "argmax", "argmin", "sort", "topk"})


class _Margins(TorchDispatchMode):
    """Watches for numbers whose comparison rounding could decide."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        name = func.overloadpacket.__name__
        if name in COMPARISONS:
            _compared(args[0], args[1])
        elif name in ROUNDINGS:
            _rounded(name, args, kwargs or {})
        elif name in ORDERS:
            given = {each.name: value for each, value in zip(func._schema.arguments, args, strict=False)}
            given |= kwargs or {}
            if isinstance(args[0], Tensor) and (len(given) > 1 or name == "sort"):
                has_ties = name == "topk" or (name == "sort" and not given.get("stable"))
                _ordered(args[0], given.get("dim", -1), is_told=not has_ties)
        return func(*args, **(kwargs or {}))


def _near(difference: Tensor) -> bool:
    return bool(((difference != 0) & (difference.abs() < MARGIN)).any())


def _is_real(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, Tensor) and value.is_floating_point())


def _compared(one: Any, other: Any) -> None:
    if (_is_real(one) or _is_real(other)) and _near(torch.as_tensor(one - other)):
        raise Unsteady("numbers are compared that are nearly the same")


def _rounded(name: str, args: tuple[Any, ...], kwargs: Any) -> None:
    value = args[0]
    if not _is_real(value):
        return
    if name in ("to", "_to_copy"):
        dtype = kwargs.get("dtype")
        if dtype is None or dtype.is_floating_point:
            return
    if name == "sign" or kwargs.get("dtype") == torch.bool:
        away = value
    else:
        halves = value / args[1] if name == "remainder" else value * 2
        away = halves - halves.round()
    if _near(away):
        raise Unsteady("a number is rounded that is nearly whole")


def _ordered(value: Tensor, dim: int, *, is_told: bool) -> None:
    """Numbers in an order along a dimension; whether it is told which of equal ones comes first."""
    if not value.ndim or value.shape[dim] < 2:
        return
    steps = torch.sort(value, dim=dim).values.diff(dim=dim)
    if value.is_floating_point() and _near(steps):
        raise Unsteady("numbers are ordered that are nearly the same")
    if not is_told and bool((steps == 0).any()):
        raise Unsteady("numbers are ordered that are the same")
