"""Inputs of checks that run the program that is being compiled: examples of the factory, random ones, or files."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from et_schema.whole_numbers import shortened, whole_number
from et_tools.exit_codes import UsageError
from et_tools.level_runs import method_names, method_signature
from et_tools.vm_inputs import method_inputs, method_name
from et_vm.interchange import to_numpy

if TYPE_CHECKING:
    from torch.export import ExportedProgram
    from xdsl.dialects.builtin import ModuleOp

__all__ = ["example_inputs", "given_inputs", "random_inputs"]


class _Methods:
    def __init__(self, module: ModuleOp):
        self.method_names = method_names(module)


def random_inputs(module: ModuleOp, seed: int = 0) -> dict[str, list[Any]]:
    """Inputs for each method of a module, as `et-vm run --input random:SEED` makes them."""
    return {name: _generated(module, name, [f"random:{seed}"]) for name in method_names(module)}


def _generated(module: ModuleOp, name: str, sources: list[str]) -> list[Any]:
    return [one.value for one in method_inputs(method_signature(module, name), sources)]


def example_inputs(program: ExportedProgram) -> list[Any]:
    """The example inputs of an exported program, flat: numpy arrays and Python values. Raises `UsageError` without."""
    import torch
    from torch.utils._pytree import tree_leaves

    if program.example_inputs is None:
        raise UsageError("the program has no example inputs: give a file, or random")
    leaves = tree_leaves(copy.deepcopy(program.example_inputs))
    return [to_numpy(one.clone()) if isinstance(one, torch.Tensor) else one for one in leaves]


def given_inputs(
    text: str, module: ModuleOp, programs: Mapping[str, ExportedProgram], option: str
) -> dict[str, list[Any]]:
    """The inputs of each method that an option asks for: `inputs`, `random[:SEED]`, or a file of arrays for the method
    that et-vm would run.

    Raises `UsageError` for inputs that cannot be had.
    """
    if text == "inputs":
        random = random_inputs(module)
        return {
            name: example_inputs(programs[name])
            if name in programs and programs[name].example_inputs
            else given
            for name, given in random.items()
        }
    if text.endswith((".npy", ".npz")):
        name = method_name(_Methods(module), None)
        return {name: _generated(module, name, [text])}
    kind, _, seed = text.partition(":")
    number = whole_number(seed or "0")
    if kind != "random" or number is None:
        raise UsageError(f"{option}={shortened(text)}: expected inputs, random[:SEED], x.npy or x.npz")
    return random_inputs(module, number)
