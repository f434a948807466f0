"""A decoder as objects for processors, with its state in memory of the caller."""

from __future__ import annotations

from pathlib import Path

import freestanding_machines as machines
import pytest
import torch
from support.accuracy import assert_accurate, in_double

from et_backends.freestanding.compiler.programs import compile_program
from examples.models.cached_llama import cached_llama


@pytest.mark.sweep
@pytest.mark.parametrize("target", ["x86-64", "aarch64"])
def test_steps_of_a_decoder(target: str, tmp_path: Path) -> None:
    """Tokens one after the other: keys and values are in the state that the caller has."""
    module, arguments, _ = cached_llama()["decode"]
    made = compile_program(torch.export.export(module, arguments), target, "net")
    state = machines.reset(target, tmp_path, made)
    for place, token in enumerate((17, 4, 1000)):
        inputs = torch.tensor([[token]]), torch.tensor([place])
        found = machines.run(
            target, tmp_path, made, [one.numpy() for one in inputs], state=state, as_process=True
        )
        state = found.state
        assert found.status == 0
        assert_accurate(found.outputs, in_double(module, *inputs))
        with torch.no_grad():
            module(*inputs)  # Keys and values are in its state.
