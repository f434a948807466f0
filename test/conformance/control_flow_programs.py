"""Small programs with control flow: what they compute, the inputs they are exported with, and more to run them on.

The names say what is special about each. Inputs behind the first take the other branch, other numbers of turns, or
the ends of the ranges of sizes.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch._higher_order_ops.associative_scan import associative_scan
from torch._higher_order_ops.map import map as map_
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch.export import Dim, ExportedProgram, export

__all__ = ["PROGRAMS", "Program", "exported"]

cond: Callable[..., Any] = torch.cond


@dataclass(frozen=True)
class Program:
    """One program, exported with the first inputs."""

    make: Callable[[], nn.Module]
    inputs: Sequence[tuple[Any, ...]]
    dynamic_shapes: Any = None


class _Function(nn.Module):
    def __init__(self, function: Callable[..., Any]):
        super().__init__()
        self.function = function

    def forward(self, *inputs: Any) -> Any:
        return self.function(*inputs)


PROGRAMS: Final[dict[str, Program]] = {}


def _program(*inputs: tuple[Any, ...], dynamic: Any = None) -> Callable[[Any], Any]:
    """Register a function, or a class of modules, under its name."""

    def register(what: Any) -> Any:
        is_module = isinstance(what, type)
        PROGRAMS[what.__name__.lower().strip("_")] = Program(
            what if is_module else lambda: _Function(what),
            inputs,
            dynamic if dynamic is None or is_module else (dynamic,),
        )
        return what

    return register


_generator = torch.Generator().manual_seed(0)


def _random(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=_generator)


X: Final = _random(3, 4)
POSITIVE: Final = X.abs() + 0.5
ZERO: Final = torch.zeros((), dtype=torch.int64)
ROWS: Final = {0: Dim("rows", min=1, max=9)}
ROWS_FROM_2: Final = {0: Dim("rows", min=2, max=9)}


def _zero() -> Tensor:
    return torch.zeros((), dtype=torch.int64)


# -- conditions


@_program((X,), (-X,), (X * 100,))
def two_live_conditions(x: Tensor) -> Any:
    """Results of two conditions that are needed at one time: they must not share memory."""
    a = cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))
    b = cond(x.mean() > 10, lambda x: x * 2, lambda x: x * 3, (x,))
    return a + b, a, b


@_program((X, torch.tensor(True)), (X, torch.tensor(False)))
def predicate_is_an_input(x: Tensor, p: Tensor) -> Any:
    return cond(p, lambda x: x.sin(), lambda x: x.cos(), (x,))


@_program((X,), (X * 10,), (-X * 10,), (-X,))
def nested_conditions(x: Tensor) -> Any:
    def third(x: Tensor) -> Any:
        return x.tanh() + cond(x[0, 0] > 0, lambda x: x + 1, lambda x: x + 2, (x,))

    def first(x: Tensor) -> Any:
        return cond(x.max() > 5, lambda x: x.sin(), lambda x: x.cos(), (x,))

    def second(x: Tensor) -> Any:
        return cond(x.min() < -5, lambda x: x.exp(), third, (x,))

    return cond(x.sum() > 0, first, second, (x,))


@_program((X,), (-POSITIVE,))
def branches_give_several_types(x: Tensor) -> Any:
    return cond(
        x.sum() > 0,
        lambda x: (x.to(torch.int64), x > 0, x.half()),
        lambda x: (x.to(torch.int64) * 2, x < 0, x.half() * 2),
        (x,),
    )


@_program((POSITIVE,), (-POSITIVE,))
def branches_give_constants(x: Tensor) -> Any:
    return cond(x.sum() > 0, lambda x: torch.ones(4), lambda x: torch.zeros(4), (x,))


@_program((POSITIVE,), (-POSITIVE,))
def branches_give_what_they_get(x: Tensor) -> Any:
    return cond(x.sum() > 0, lambda x: x.clone(), lambda x: x + 0, (x,))


@_program((POSITIVE,), (-POSITIVE,))
def result_not_used(x: Tensor) -> Any:
    a, _ = cond(x.sum() > 0, lambda x: (x + 1, x.exp()), lambda x: (x - 1, x.log()), (x,))
    return a


@_program((POSITIVE,), (-POSITIVE,))
def one_value_twice(x: Tensor) -> Any:
    def first(x: Tensor) -> Any:
        y = x * 2
        return y, y.clone(), x + 1

    return cond(x.sum() > 0, first, lambda x: (x - 1, x + 1, x * 3), (x,))


@_program((), ())
def condition_without_inputs() -> Any:
    return cond(torch.ones(()).sum() > 0, lambda: torch.ones(3), lambda: torch.zeros(3), ())


@_program((_random(5, 4),), (_random(2, 4),), (_random(9, 4),), dynamic=(ROWS_FROM_2,))
def predicate_of_sizes(x: Tensor) -> Any:
    return cond(x.shape[0] > 4, lambda x: (x + 1, x.sum()), lambda x: (x - 1, x.mean()), (x,))


@_program((_random(6, 4),), (torch.ones(9, 4),), (-torch.ones(2, 4),), dynamic=(ROWS_FROM_2,))
def branches_of_sizes_known_at_run_time(x: Tensor) -> Any:
    return cond(x.sum() > 4, lambda x: x.cos(), lambda x: x.sin(), (x,))


@_program((_random(6, 4),), (torch.ones(9, 4),), (-torch.ones(2, 4),), dynamic=(ROWS_FROM_2,))
def branches_that_cut(x: Tensor) -> Any:
    return cond(x.sum() > 4, lambda x: x[:2].cos(), lambda x: x[-2:].sin(), (x,))


@_program((POSITIVE,), (-POSITIVE,))
def data_dependent_sizes_in_a_branch(x: Tensor) -> Any:
    return cond(x.sum() > 0, lambda x: x.nonzero().sum(0), lambda x: (x > 0).sum(0)[:2], (x,))


@_program((POSITIVE,), (-POSITIVE,))
def complex_numbers_in_branches(x: Tensor) -> Any:
    z = torch.fft.fft(x)
    return cond(x.sum() > 0, lambda z: z * 2, lambda z: z.conj() * 1j, (z,)).abs()


@_program((_random(1, 3, 8, 8) + 1,), (_random(1, 3, 8, 8) - 1,))
class Convolutions(nn.Module):
    """Weights that only one branch uses, and what is folded in it."""

    def __init__(self) -> None:
        super().__init__()
        self.one = nn.Conv2d(3, 4, 3, padding=1)
        self.other = nn.Sequential(nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4), nn.ReLU())
        self.eval()

    def forward(self, x: Tensor) -> Any:
        return cond(x.mean() > 0, lambda x: self.one(x), lambda x: self.other(x), (x,))


@_program(
    (_random(1, 3, 8, 8).to(memory_format=torch.channels_last) + 1,),
    (_random(1, 3, 8, 8).to(memory_format=torch.channels_last) - 1,),
)
class ConvolutionsChannelsLast(Convolutions):
    def __init__(self) -> None:
        super().__init__()
        self.to(memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue]


@_program((POSITIVE,), (-POSITIVE,), (POSITIVE,))
class Counting(nn.Module):
    """State that a branch reads and the method writes."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(4))
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Any:
        y = cond(x.sum() > 0, lambda x: self.linear(x) + self.count, lambda x: x - self.count, (x,))
        self.count.add_(y.sum(0))
        return y


@_program((POSITIVE,), (-POSITIVE,))
def chain_of_conditions(x: Tensor) -> Any:
    for i in range(4):
        x = cond(x.sum() > i, lambda x: x * 0.5, lambda x: x + 1.5, (x,))
    return x


# -- while


@_program((ZERO, X), (torch.tensor(7), X), (torch.tensor(4), X))
class Layers(nn.Module):
    """A layer applied a number of times that the data says."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, i: Tensor, x: Tensor) -> Any:
        return while_loop(lambda i, x: i < 5, lambda i, x: (i + 1, self.linear(x)), (i, x))


@_program((torch.tensor(6),), (torch.tensor(27),), (torch.tensor(1),))
def collatz(n: Tensor) -> Any:
    """A number of turns that nothing bounds."""
    return while_loop(
        lambda n, count: n != 1,
        lambda n, count: (torch.where(n % 2 == 0, n // 2, 3 * n + 1), count + 1),
        (n, _zero()),
    )


@_program((ZERO, X), (torch.tensor(5), X), (torch.tensor(6), X))
def condition_in_while(i: Tensor, x: Tensor) -> Any:
    def body(i: Tensor, x: Tensor) -> Any:
        return i + 1, cond(i % 2 == 0, lambda x: x * 2, lambda x: x - 1, (x,))

    return while_loop(lambda i, x: i < 6, body, (i, x))


@_program((POSITIVE, torch.tensor(3)), (-POSITIVE, torch.tensor(3)), (POSITIVE, ZERO))
def while_in_condition(x: Tensor, n: Tensor) -> Any:
    def repeat(x: Tensor, n: Tensor) -> Any:
        return while_loop(lambda i, x: i < n, lambda i, x: (i + 1, x + 1), (_zero(), x))[1]

    return cond(x.sum() > 0, repeat, lambda x, n: x * 1, (x, n))


@_program((X,))
def while_in_while(x: Tensor) -> Any:
    def body(i: Tensor, x: Tensor) -> Any:
        _, y = while_loop(lambda j, y: j < i, lambda j, y: (j + 1, y * 1.5), (_zero(), x))
        return i + 1, y

    return while_loop(lambda i, x: i < 4, body, (_zero(), x))


@_program((ZERO, X, X + 1), (torch.tensor(2), X, X * 2), (torch.tensor(3), X, X * 2))
def carried_values_change_places(i: Tensor, a: Tensor, b: Tensor) -> Any:
    return while_loop(lambda i, a, b: i < 3, lambda i, a, b: (i + 1, b.clone(), a.clone()), (i, a, b))


@_program((ZERO, X, X + 1, X * 2))
def carried_values_go_round(i: Tensor, a: Tensor, b: Tensor, c: Tensor) -> Any:
    return while_loop(lambda i, a, b, c: i < 4, lambda i, a, b, c: (i + 1, b + 0, c + 0, a + b), (i, a, b, c))


@_program((_random(5, 4),), (_random(2, 4),), (_random(9, 4),), dynamic=(ROWS_FROM_2,))
def number_of_turns_is_a_size(x: Tensor) -> Any:
    return while_loop(lambda i, x: i < x.shape[0], lambda i, x: (i + 1, x * 1.1), (0, x))


@_program((X,), (-X,))
def fixed_point(x: Tensor) -> Any:
    """Newton's iteration, until it no longer moves."""

    def body(old: Tensor, new: Tensor) -> Any:
        return new.clone(), 0.5 * (new + 2.0 / new)

    return while_loop(
        lambda old, new: (old - new).abs().max() > 1e-6, body, (torch.zeros_like(x), x.abs() + 1)
    )[1]


@_program((X,))
def loop_without_turns(x: Tensor) -> Any:
    return while_loop(lambda i, x: i < 0, lambda i, x: (i + 1, x * 2), (_zero(), x))


# -- map


@_program((X, _random(4)))
def map_with_a_captured_tensor(xs: Tensor, y: Tensor) -> Any:
    return map_(lambda x, y: (x + y, x * y), xs, y)


@_program((_random(2, 3, 4), _random(4)))
def map_in_map(xs: Tensor, y: Tensor) -> Any:
    return map_(lambda x, y: map_(lambda q, y: q * y + 1, x, y), xs, y)


@_program((X,), (-X,))
def condition_in_map(xs: Tensor) -> Any:
    return map_(lambda x: cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,)), xs)


@_program((_random(5, 4),), (_random(1, 4),), (_random(9, 4),), dynamic=(ROWS,))
def map_over_a_size_known_at_run_time(xs: Tensor) -> Any:
    return map_(lambda x: x * 2, xs)


@_program(
    (_random(5, 4),),
    (_random(2, 8),),
    (_random(9, 3),),
    dynamic=({0: Dim("rows", min=1, max=9), 1: Dim("columns", min=2, max=8)},),
)
def map_of_slices_of_sizes_known_at_run_time(xs: Tensor) -> Any:
    return map_(lambda x: x * 2, xs)


@_program((X,), (-X,))
def map_to_concatenations(xs: Tensor) -> Any:
    return map_(lambda x: torch.cat([x.exp(), x.abs(), -x]), xs)


@_program((_random(3, 4, 5),))
def map_to_numbers_and_rows(xs: Tensor) -> Any:
    return map_(lambda x: (x.sum(), x.max(dim=0).values), xs)


@_program((_random(3, 4), _random(3, 4)))
def map_over_two_tensors(xs: Tensor, ys: Tensor) -> Any:
    return map_(lambda pair: pair[0] @ pair[1], (xs, ys))


@_program((X,))
def results_of_map_are_used(xs: Tensor) -> Any:
    ys = map_(lambda x: x.exp(), xs)
    return ys.t() @ xs, ys[1:], ys.reshape(-1)


# -- scan


@_program((_random(4), X))
class Recurrence(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, h: Tensor, xs: Tensor) -> Any:
        return scan(lambda h, x: (torch.tanh(self.linear(h) + x), h + x), h, xs)


@_program((_random(4), _random(4, 3)))
def scan_from_the_end(h: Tensor, xs: Tensor) -> Any:
    return scan(lambda h, x: (h + x, h * x), h, xs, dim=1, reverse=True)


@_program((_random(4), _random(4), X, _random(3, 4)))
def scan_with_two_states(h: Tensor, c: Tensor, xs: Tensor, ys: Tensor) -> Any:
    def step(state: Any, item: Any) -> Any:
        return (
            (state[0] + item[0], state[1] * item[1]),
            (state[0] * item[1], state[1] - item[0]),
        )

    return scan(step, (h, c), (xs, ys))


@_program(
    (_random(4), _random(5, 4)),
    (_random(4), _random(1, 4)),
    (_random(4), _random(9, 4)),
    dynamic=(None, ROWS),
)
def scan_over_a_size_known_at_run_time(h: Tensor, xs: Tensor) -> Any:
    return scan(lambda h, x: (torch.tanh(h + x), h * x), h, xs)


@_program((_random(4), X), (_random(4), -X))
def condition_in_scan(h: Tensor, xs: Tensor) -> Any:
    def step(h: Tensor, x: Tensor) -> Any:
        return cond(x.sum() > 0, lambda h, x: h + x, lambda h, x: h - x, (h, x)), h * 1

    return scan(step, h, xs)


@_program((_random(4), _random(2, 3, 4)))
def scan_in_scan(h: Tensor, xs: Tensor) -> Any:
    def step(h: Tensor, row: Tensor) -> Any:
        h, ys = scan(lambda h, x: (h * 0.5 + x, h + x), h, row)
        return h, ys.sum(0)

    return scan(step, h, xs)


@_program((X, torch.tensor(4)), (X, ZERO))
def scan_in_while(xs: Tensor, n: Tensor) -> Any:
    def body(i: Tensor, x: Tensor) -> Any:
        _, ys = scan(lambda h, x: (h + x, h + x), torch.zeros(4), x)
        return i + 1, ys * 0.5

    return while_loop(lambda i, x: i < n, body, (_zero(), xs))


@_program((_random(4), X))
def state_that_does_not_change(h: Tensor, xs: Tensor) -> Any:
    return scan(lambda h, x: (h * 1, x * 2), h, xs)


# -- associative scan


@_program((_random(7, 3),))
def running_sum(xs: Tensor) -> Any:
    return associative_scan(lambda a, b: a + b, xs, dim=0, combine_mode="generic")


@_program((_random(5, 4), _random(5, 4)))
def linear_recurrence(a: Tensor, b: Tensor) -> Any:
    """The recurrence of state-space models."""

    def combine(left: Any, right: Any) -> Any:
        return left[0] * right[0], left[1] * right[0] + right[1]

    return associative_scan(combine, (a, b), dim=1, combine_mode="generic", reverse=True)


# -- recurrent layers of more steps than are unrolled


class _Recurrent(nn.Module):
    """Recurrent layers of 3 features and 4 cells. Torch warns where it does not use oneDNN."""

    def __init__(self, cell: type[nn.RNNBase], **options: Any) -> None:
        super().__init__()
        self.layers = cell(3, 4, **options)

    def forward(self, *inputs: Any) -> Any:
        with warnings.catch_warnings(action="ignore"):
            return self.layers(*inputs)


def _layers(cell: type[nn.RNNBase], **options: Any) -> Callable[[], nn.Module]:
    return lambda: _Recurrent(cell, **options).eval()


_STEPS = (_random(11, 2, 3),), (_random(11, 2, 3) * 3,)
_STATES = (_random(1, 2, 4), _random(1, 2, 4))

PROGRAMS |= {
    "lstm": Program(_layers(nn.LSTM), _STEPS),
    "lstm_from_given_states": Program(_layers(nn.LSTM), [(_STEPS[0][0], _STATES), (_STEPS[1][0], _STATES)]),
    "lstm_with_projections": Program(_layers(nn.LSTM, num_layers=2, proj_size=2), _STEPS),
    "lstm_of_one_sequence": Program(_layers(nn.LSTM, bidirectional=True), [(_random(11, 3),)]),
    "lstm_of_no_biases": Program(_layers(nn.LSTM, bias=False, batch_first=True), [(_random(2, 11, 3),)]),
    "gru_in_both_directions": Program(_layers(nn.GRU, num_layers=2, bidirectional=True), _STEPS),
    "gru_of_a_batch_known_at_run_time": Program(
        _layers(nn.GRU, batch_first=True),
        [(_random(3, 11, 3),), (_random(1, 11, 3),), (_random(5, 11, 3),)],
        (({0: Dim("batch", min=1, max=8)},),),
    ),
    "rnn": Program(_layers(nn.RNN), _STEPS),
    "rnn_of_relu": Program(_layers(nn.RNN, nonlinearity="relu", num_layers=2), _STEPS),
}


def exported(program: Program) -> tuple[nn.Module, ExportedProgram]:
    """A program's module, and what it is exported to."""
    torch.manual_seed(0)
    module = program.make()
    with warnings.catch_warnings(action="ignore"):
        return module, export(copy.deepcopy(module), program.inputs[0], dynamic_shapes=program.dynamic_shapes)
