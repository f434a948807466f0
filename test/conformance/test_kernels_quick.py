"""Torch's fast functions arrive at the operators that the aten library takes them for."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from kernel_oracle import Recorded, as_argument, register_of
from kernel_samples import collect
from torch.utils._python_dispatch import TorchDispatchMode

from et_vm.kernels.aten.binding import alias
from et_vm.kernels.aten.call import Call
from et_vm.kernels.aten.quick import EQUIVALENT, IN_NN, IN_TORCH, quick_function
from et_vm.kernels.aten.schema import operator

NAMES = sorted(f"aten::{name}" for name in {*IN_TORCH, *IN_NN, *EQUIVALENT})


class _ArrivedError(Exception):
    """Stops the call at the dispatcher."""


class _Arrival(TorchDispatchMode):
    overload: Any = None

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.overload = func
        raise _ArrivedError


@pytest.fixture(scope="session")
def samples() -> dict[str, list[Recorded]]:
    return collect(NAMES)


def _arrival(name: str, recorded: Recorded) -> Any:
    """The overload that the fast function for ``name`` reaches with the arguments of ``recorded``."""
    function = quick_function(name)
    assert function is not None
    outs = [register_of(result) for result in recorded.results]
    call = Call(operator(name), [*map(as_argument, recorded.arguments), *outs])
    arrival = _Arrival()
    with torch.inference_mode():
        positional, keywords = call.arguments(alias)
        out = alias(outs[0]) if len(outs) == 1 else tuple(alias(out) for out in outs)
        with pytest.raises(_ArrivedError), arrival:
            function(*positional, **keywords, out=out)
    return arrival.overload


@pytest.mark.parametrize("name", NAMES)
def test_arrivals(samples: dict[str, list[Recorded]], name: str) -> None:
    assert samples[name], f"no sample reaches {name}"
    wanted = operator(name).overload
    for recorded in samples[name]:
        reached = _arrival(name, recorded)
        if name.removeprefix("aten::") in EQUIVALENT:
            assert reached.overloadpacket == wanted.overloadpacket
            assert reached._schema.arguments[1].name == wanted._schema.arguments[1].name
        else:
            assert reached == wanted, recorded


def test_other_operators_have_none() -> None:
    assert quick_function("aten::convolution.out") is None
    assert quick_function("aten::roll.out") is None
