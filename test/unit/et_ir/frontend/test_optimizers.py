"""Optimizers: their options, those of torch, and texts that make no sense."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from et_ir.frontend.optimizers import OPTIMIZERS, Optimizer


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("adamx", "no optimizer 'adamx', did you mean"),
        ("lion", "no optimizer 'lion'; there are sgd, adam, adamw, adagrad, rmsprop"),
        (
            "adam:momentum=1",
            "adam has no option 'momentum'; there are lr, beta1, .*, clip",
        ),
        ("adam:beta_1=0.5", "adam has no option 'beta_1', did you mean"),
        ("adam:lr=fast", "lr is 'fast', expected a number, true or false"),
        ("adam:lr=-1", "lr is -1, expected a number that is not negative"),
        ("adam:lr=nan", "lr is nan, expected a number that is not negative"),
        ("adam:beta1=1", "beta1 is 1.0, expected a number from 0 to below 1"),
        ("adam:amsgrad=2", "amsgrad is 2.0, expected true or false"),
        ("adam:lr=0.1,lr=0.2", "'lr' is given twice"),
        ("sgd:nesterov", "nesterov needs a momentum, and no dampening"),
        ("sgd:clip=0", "clip is 0.0, expected a positive number"),
    ],
)
def test_optimizers_that_make_no_sense(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Optimizer.of(text)


def test_texts() -> None:
    assert Optimizer.of("adamw:lr=1e-3,amsgrad,clip=2") == Optimizer(
        "adamw", {"lr": 1e-3, "amsgrad": True}, 2.0
    )
    assert Optimizer.of("sgd:lr=input") == Optimizer("sgd", takes_rate=True)


def test_options_are_those_of_torch() -> None:
    """Names and defaults."""
    kinds: dict[str, Any] = {
        "sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW, "adagrad": torch.optim.Adagrad,
        "rmsprop": torch.optim.RMSprop,
    }  # fmt: skip
    for name, kind in OPTIMIZERS.items():
        defaults = kinds[name]([torch.zeros(1)]).defaults
        if "betas" in defaults:
            defaults["beta1"], defaults["beta2"] = defaults["betas"]
        assert {option: defaults[option] for option in kind.options} == kind.options
