"""Diagnostics for programs that `torch.export` rejects."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from sweep.refusals import why_not_exported
from torch import Tensor, nn


class Calls(nn.Module):
    """A module that calls a function."""

    def __init__(self, function: Callable[..., Any]):
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Any:
        return self.function(x)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: torch.equal(x, x), "no call of equal is traced"),
        (lambda x: torch.allclose(x, x + 1), "no call of allclose is traced"),
        (lambda x: torch.combinations(x, 2), "loses track of a number"),
        (lambda x: torch.narrow(x, 0, x.argmax(), 1), "loses track of a number"),
        (lambda x: torch.nn.functional.one_hot(x.long()), "a number that only the data tells"),
    ],
)
def test_reasons(function: Callable[..., Any], expected: str) -> None:
    with pytest.raises(Exception) as error:  # noqa: PT011 (torch's own, of many kinds)
        torch.export.export(Calls(function), (torch.tensor([0.0, 1.0, 2.0]),), strict=False)
    assert expected in why_not_exported(error.value)


def test_others_are_in_torchs_words() -> None:
    assert why_not_exported(ValueError("first\nsecond")) == "ValueError: first"
    assert why_not_exported(ValueError()) == "ValueError: ValueError"
