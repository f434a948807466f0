"""The models that every conformance test runs."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from support.accuracy import Truth, in_double
from torch.utils import _pytree as pytree

from examples.artefacts import digest

FACTORIES = {
    "digits": "examples.digits.network:digits",
    "minilm": "examples.sentences.encoder:sentence_encoder",
    "mobilenet_v2": "examples.models.mobilenet_v2:mobilenet_v2",
    "resnet18": "examples.models.resnet18:resnet18",
    "bert": "examples.models.bert:bert",
    "llama": "examples.models.llama:llama",
    "mobilenet_v3": "examples.models.mobilenet_v3:mobilenet_v3",
    "vit": "examples.models.vit:vit",
    "unet": "examples.models.unet:unet",
    "detector": "examples.models.detector:detector",
}


@dataclass(frozen=True)
class Model:
    """An example model, what it was exported to, and what eager makes of its example arguments."""

    name: str
    source: Path
    module: torch.nn.Module
    program: torch.export.ExportedProgram
    inputs: list[Any]
    expected: list[torch.Tensor]

    @cached_property
    def truth(self) -> Truth:
        """The outputs in double precision."""
        args, kwargs = pytree.tree_unflatten(self.inputs, self.program.call_spec.in_spec)
        return in_double(self.module, *args, **kwargs)

    def content(self) -> str:
        """Changes with the model's code and with any of its weights."""
        state = sha256()
        for name, tensor in sorted({**self.program.state_dict, **self.program.constants}.items()):
            if isinstance(tensor, torch.Tensor):
                state.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
                state.update(tensor.detach().contiguous().reshape(-1).view(torch.uint8).numpy().data)
        return digest(self.source, state.hexdigest())


def build(name: str) -> Model:
    """Make, run and export the model `name` of `FACTORIES`."""
    module_name, factory = FACTORIES[name].split(":")
    with warnings.catch_warnings(action="ignore"):  # of torch and transformers about each other
        source = import_module(module_name)
        module, arguments = getattr(source, factory)()
        program = torch.export.export(module, arguments)
    assert source.__file__ is not None
    with torch.no_grad():
        expected = pytree.tree_leaves(module(*arguments))
    return Model(name, Path(source.__file__), module, program, pytree.tree_leaves(arguments), expected)
