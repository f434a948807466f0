"""Torch's fast functions arrive at the operators that the aten library takes them for."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from kernel_oracle import Recorded, as_argument, register_of
from kernel_samples import collect
from torch.utils._python_dispatch import TorchDispatchMode

from et_vm.kernels.aten.binding import alias
from et_vm.kernels.aten.call import AtenCall
from et_vm.kernels.aten.quick import EQUIVALENT, IN_NN, IN_TORCH, quick_function
from et_vm.kernels.aten.schema import operator

NAMES = sorted(f"aten::{name}" for name in {*IN_TORCH, *IN_NN, *EQUIVALENT})


class _ArrivedError(Exception):
    """Stops the call at the dispatcher."""


class _Arrival(TorchDispatchMode):
    overload: Any = None
    numbers: dict[str, Any]
    """The arguments that are numbers, by the names that they have in the overload."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.overload = func
        names = [argument.name for argument in func._schema.arguments]
        named = {**dict(zip(names, args, strict=False)), **(kwargs or {})}
        self.numbers = {name: value for name, value in named.items() if isinstance(value, int | float)}
        raise _ArrivedError


@pytest.fixture(scope="session")
def samples() -> dict[str, list[Recorded]]:
    return collect(NAMES)


def _arrival(name: str, recorded: Recorded) -> _Arrival:
    """The fast function for `name` and its arguments, when called with those of `recorded`."""
    function = quick_function(name)
    assert function is not None
    outs = [register_of(result) for result in recorded.results]
    call = AtenCall(operator(name), [*map(as_argument, recorded.arguments), *outs])
    arrival = _Arrival()
    with torch.inference_mode():
        positional, keywords = call.arguments(alias)
        out = alias(outs[0]) if len(outs) == 1 else tuple(alias(out) for out in outs)
        with pytest.raises(_ArrivedError), arrival:
            function(*positional, **keywords, out=out)
    return arrival


@pytest.mark.parametrize("name", NAMES)
def test_arrivals(samples: dict[str, list[Recorded]], name: str) -> None:
    assert samples[name], f"no sample reaches {name}"
    wanted = operator(name).overload
    for recorded in samples[name]:
        arrival = _arrival(name, recorded)
        reached = arrival.overload
        given = dict(
            zip((argument.name for argument in operator(name).inputs), recorded.arguments, strict=True)
        )
        for number, value in arrival.numbers.items():
            assert value == pytest.approx(given[number], abs=0, rel=0, nan_ok=True)
        if name.removeprefix("aten::") in EQUIVALENT:
            assert reached.overloadpacket == wanted.overloadpacket
            assert reached._schema.arguments[1].name == wanted._schema.arguments[1].name
        else:
            assert reached == wanted, recorded


def test_other_operators_have_none() -> None:
    assert quick_function("aten::convolution.out") is None
    assert quick_function("aten::roll.out") is None
