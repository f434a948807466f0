"""Optimizers by formula, with options and defaults of `torch.optim`.

A formula makes of a parameter, its gradient and its moments those after a step, as `torch.optim` does for single
tensors; `et_ir.frontend.training_step` traces it into programs. The number of the step and the learning rate are in
double precision, as there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, Final, NamedTuple

import torch
from torch import Tensor

from et_schema.diagnostics import did_you_mean

__all__ = ["LEARNING_RATE", "OPTIMIZERS", "Kind", "Optimizer", "Step", "Update", "clipped"]

INPUT: Final = "input"
"""The value of `lr` that stands for an input of the program."""
LEARNING_RATE: Final = "lr"
"""The option, and the input, with the learning rate."""

_Value = float | bool


class Update(NamedTuple):
    """A parameter and its state, before a step or after it."""

    parameter: Tensor
    moments: dict[str, Tensor]


class Step(NamedTuple):
    """What the updates of all parameters share: f64 tensors without dimensions."""

    number: Tensor
    """1 in the first step."""
    rate: Tensor

    def scaled(self, value: Tensor, like: Tensor) -> Tensor:
        """A number as one that a tensor is multiplied by."""
        return value.to(like.dtype)


def _sgd(p: Tensor, g: Tensor, m: dict[str, Tensor], step: Step, o: Mapping[str, Any]) -> Update:
    if o["weight_decay"]:
        g = g + o["weight_decay"] * p
    if o["momentum"]:
        held = o["momentum"] * m["momentum_buffer"] + (1 - o["dampening"]) * g
        held = torch.where(step.number == 1, g, held)
        m = {"momentum_buffer": held}
        g = g + o["momentum"] * held if o["nesterov"] else held
    return Update(p - step.scaled(step.rate, p) * g, m)


def _adam(p: Tensor, g: Tensor, m: dict[str, Tensor], step: Step, o: Mapping[str, Any]) -> Update:
    if o["weight_decay"]:
        g = g + o["weight_decay"] * p
    return _adaptive_moments(p, g, m, step, o)


def _adamw(p: Tensor, g: Tensor, m: dict[str, Tensor], step: Step, o: Mapping[str, Any]) -> Update:
    p = p * step.scaled(1 - step.rate * o["weight_decay"], p)
    return _adaptive_moments(p, g, m, step, o)


def _adaptive_moments(p: Tensor, g: Tensor, m: dict[str, Tensor], step: Step, o: Mapping[str, Any]) -> Update:
    first = m["exp_avg"] + (1 - o["beta1"]) * (g - m["exp_avg"])
    second = o["beta2"] * m["exp_avg_sq"] + (1 - o["beta2"]) * g * g
    made = {"exp_avg": first, "exp_avg_sq": second}
    if o["amsgrad"]:
        second = made["max_exp_avg_sq"] = torch.maximum(m["max_exp_avg_sq"], second)
    rate = step.rate / (1 - torch.pow(o["beta1"], step.number))
    correction = torch.sqrt(1 - torch.pow(o["beta2"], step.number))
    deviation = torch.sqrt(second) / step.scaled(correction, p) + o["eps"]
    return Update(p - step.scaled(rate, p) * (first / deviation), made)


def _adagrad(p: Tensor, g: Tensor, m: dict[str, Tensor], step: Step, o: Mapping[str, Any]) -> Update:
    if o["weight_decay"]:
        g = g + o["weight_decay"] * p
    rate = step.rate / (1 + (step.number - 1) * o["lr_decay"])
    total = m["sum"] + g * g
    return Update(p - step.scaled(rate, p) * (g / (torch.sqrt(total) + o["eps"])), {"sum": total})


def _rmsprop(p: Tensor, g: Tensor, m: dict[str, Tensor], step: Step, o: Mapping[str, Any]) -> Update:
    if o["weight_decay"]:
        g = g + o["weight_decay"] * p
    mean = o["alpha"] * m["square_avg"] + (1 - o["alpha"]) * g * g
    made = {"square_avg": mean}
    variance = mean
    if o["centered"]:
        average = made["grad_avg"] = m["grad_avg"] + (1 - o["alpha"]) * (g - m["grad_avg"])
        variance = mean - average * average
    moved = g / (torch.sqrt(variance) + o["eps"])
    if o["momentum"]:
        moved = made["momentum_buffer"] = o["momentum"] * m["momentum_buffer"] + moved
    return Update(p - step.scaled(step.rate, p) * moved, made)


class Kind(NamedTuple):
    """An optimizer: its update, its options with torch's defaults, and the moments that it keeps of a parameter."""

    update: Callable[[Tensor, Tensor, dict[str, Tensor], Step, Mapping[str, Any]], Update]
    options: Mapping[str, _Value]
    moments: Callable[[Mapping[str, Any]], Mapping[str, float]]
    """Names and first values by options."""


_ADAM: Final = {"lr": 1e-3, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "amsgrad": False}


def _moments_of_sgd(o: Mapping[str, Any]) -> dict[str, float]:
    return {"momentum_buffer": 0.0} if o["momentum"] else {}


def _moments_of_adagrad(o: Mapping[str, Any]) -> dict[str, float]:
    return {"sum": o["initial_accumulator_value"]}


def _moments_of_adam(o: Mapping[str, Any]) -> dict[str, float]:
    names = ("exp_avg", "exp_avg_sq", *(("max_exp_avg_sq",) if o["amsgrad"] else ()))
    return dict.fromkeys(names, 0.0)


def _moments_of_rmsprop(o: Mapping[str, Any]) -> dict[str, float]:
    names = ("square_avg", *(("grad_avg",) if o["centered"] else ()))
    return dict.fromkeys((*names, *(("momentum_buffer",) if o["momentum"] else ())), 0.0)


OPTIMIZERS: Final[Mapping[str, Kind]] = {
    "sgd": Kind(
        _sgd,
        {"lr": 1e-3, "momentum": 0.0, "dampening": 0.0, "weight_decay": 0.0, "nesterov": False},
        _moments_of_sgd,
    ),
    "adam": Kind(_adam, {**_ADAM, "weight_decay": 0.0}, _moments_of_adam),
    "adamw": Kind(_adamw, {**_ADAM, "weight_decay": 1e-2}, _moments_of_adam),
    "adagrad": Kind(
        _adagrad,
        {"lr": 1e-2, "lr_decay": 0.0, "weight_decay": 0.0, "eps": 1e-10, "initial_accumulator_value": 0.0},
        _moments_of_adagrad,
    ),
    "rmsprop": Kind(
        _rmsprop,
        {"lr": 1e-2, "alpha": 0.99, "eps": 1e-8, "weight_decay": 0.0, "momentum": 0.0, "centered": False},
        _moments_of_rmsprop,
    ),
}
"""Optimizers by name. Options have the names of `torch.optim`; its `betas` are `beta1` and `beta2`."""

_BELOW_ONE: Final = ("beta1", "beta2")


@dataclass(frozen=True)
class Optimizer:
    """An optimizer with its options.

    Raises `ValueError` for an unknown name or option, and for a value that an option cannot have.
    """

    name: str
    options: Mapping[str, _Value] = field(default_factory=dict[str, _Value])
    """Those that are not torch's defaults."""
    clip: float | None = None
    """The largest norm of all gradients together, to which `torch.nn.utils.clip_grad_norm_` scales, too."""
    takes_rate: bool = False
    """Whether the learning rate is the last input of the program, f32 without dimensions."""

    def __post_init__(self) -> None:
        if self.name not in OPTIMIZERS:
            hint = did_you_mean(self.name, OPTIMIZERS) or f"; there are {', '.join(OPTIMIZERS)}"
            raise ValueError(f"no optimizer '{self.name}'{hint}")
        defaults = OPTIMIZERS[self.name].options
        for option, value in self.options.items():
            if option not in defaults:
                hint = did_you_mean(option, defaults) or f"; there are {', '.join((*defaults, 'clip'))}"
                raise ValueError(f"{self.name} has no option '{option}'{hint}")
            if isinstance(defaults[option], bool):
                if not isinstance(value, bool):
                    raise ValueError(f"{option} is {value}, expected true or false")
            elif not isfinite(value) or value < 0 or (option in _BELOW_ONE and value >= 1):
                expected = (
                    "a number from 0 to below 1" if option in _BELOW_ONE else "a number that is not negative"
                )
                raise ValueError(f"{option} is {value}, expected {expected}")
        if self.clip is not None and not (isfinite(self.clip) and self.clip > 0):
            raise ValueError(f"clip is {self.clip}, expected a positive number")
        chosen = {**defaults, **self.options}
        if chosen.get("nesterov") and (not chosen["momentum"] or chosen["dampening"]):
            raise ValueError("nesterov needs a momentum, and no dampening")

    @staticmethod
    def of(text: str) -> Optimizer:
        """The optimizer that a text names: `adamw:lr=1e-3,weight_decay=0.01,clip=1`. `lr=input` makes the learning rate
        an input. Raises `ValueError`.
        """
        name, _, rest = text.partition(":")
        options: dict[str, _Value] = {}
        for item in filter(None, rest.split(",")):
            option, given, value = item.partition("=")
            if option in options:
                raise ValueError(f"'{option}' is given twice")
            options[option] = _value(option, value if given else "true")
        clip = options.pop("clip", None)
        takes_rate = options.get(LEARNING_RATE) == _TAKEN
        if takes_rate:
            del options[LEARNING_RATE]
        return Optimizer(name, options, None if clip is None else float(clip), takes_rate)


_TAKEN: Final = -1.0
"""Stands for the learning rate of an input while options are read: no rate is negative."""


def _value(option: str, text: str) -> _Value:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if option == LEARNING_RATE and text == INPUT:
        return _TAKEN
    try:
        found = float(text)
    except ValueError:
        raise ValueError(f"{option} is {text!r}, expected a number, true or false") from None
    if option == LEARNING_RATE and found < 0:
        raise ValueError(f"{option} is {text}, expected a number that is not negative")
    return found


def clipped(gradients: Sequence[Tensor], largest: float) -> list[Tensor]:
    """Gradients whose norm, of all of them, is at most `largest`."""
    linalg: Any = torch.linalg
    norms: list[Tensor] = [linalg.vector_norm(one) for one in gradients]
    total: Tensor = linalg.vector_norm(torch.stack(norms))
    factor = torch.clamp(largest / (total + 1e-6), max=1.0)
    return [one * factor.to(one.dtype) for one in gradients]
