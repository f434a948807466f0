"""Programs of functions, their files, and executions of these on et-vm."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from et_vm.program import Program
from et_vm.runtime import Runtime

__all__ = ["Calls", "exported", "operators", "run"]


class Calls(nn.Module):
    """A module that calls a function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Any) -> Any:
        return self.function(*inputs)


def exported(module: nn.Module, *inputs: Any, **options: Any) -> torch.export.ExportedProgram:
    """The program of a module in evaluation mode, without torch's warnings; `options` are those of export."""
    with warnings.catch_warnings(action="ignore"):
        return torch.export.export(module.eval(), inputs, **options)


def run(file: bytes, *inputs: Any, allow_native: bool = False) -> list[Any]:
    """The outputs of `forward`, which does not change the inputs; dead memory is poisoned."""
    program = Runtime().load_program(file, allow_native=allow_native, poison=True)
    return program.load_method("forward").execute([value.clone() for value in inputs])


def operators(file: bytes) -> list[str]:
    """The names of what the instructions of the first method call, in order."""
    return [one.name for one in Program.load(file).instructions(0)]
