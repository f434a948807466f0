"""The models that every conformance test runs."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import stock_xnnpack_programs
import torch
from stock import compile_stock
from support.accuracy import Truth, in_double
from torch.utils import _pytree as pytree

from examples.artefacts import digest, keep

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
SMALL = {
    "digits": FACTORIES["digits"],
    "nasnet_cell": "examples.models.nasnet_cell:nasnet_cell",
    "gru": "examples.models.recurrent:gru",
}
"""A model of each kind of layers that runs within a second."""
OF_MICROCONTROLLERS = {
    "darts_cell": "examples.models.darts_cell:darts_cell",
    "anomaly_detection": "examples.models.mlperf_tiny:anomaly_detection",
    "image_classification": "examples.models.mlperf_tiny:image_classification",
    "keyword_spotting": "examples.models.mlperf_tiny:keyword_spotting",
    "lstm": "examples.models.recurrent:lstm",
}
"""Others that an emulator of a microcontroller runs within seconds."""
ALL = SMALL | FACTORIES | OF_MICROCONTROLLERS


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

    def stock_file(self, folder: Path) -> Path:
        """The file of the stock compiler, kept in a folder until the model or the toolchain changes."""
        path = folder / f"{self.name}.pte"
        key = digest(self.content(), version("executorch"), version("torch"))

        def make(draft: Path) -> dict[str, Any]:
            draft.write_bytes(compile_stock(self.program))
            return {}

        keep(path, key, make)
        return path

    def stock_xnnpack_file(self, folder: Path) -> Path:
        """The same, lowered by the stock partitioner for XNNPACK."""
        path = folder / f"{self.name}.xnnpack.pte"
        key = digest(
            self.content(), Path(stock_xnnpack_programs.__file__), version("executorch"), version("torch")
        )

        def make(draft: Path) -> dict[str, Any]:
            with warnings.catch_warnings(action="ignore"):  # of stock about itself
                draft.write_bytes(stock_xnnpack_programs.lowered_program(self.program))
            return {}

        keep(path, key, make)
        return path


def build(name: str) -> Model:
    """Make, run and export the model `name` of `ALL`."""
    module_name, factory = ALL[name].split(":")
    with warnings.catch_warnings(action="ignore"):  # of torch and transformers about each other
        source = import_module(module_name)
        module, arguments = getattr(source, factory)()
        program = torch.export.export(module, arguments)
    assert source.__file__ is not None
    with torch.no_grad():
        expected = pytree.tree_leaves(module(*arguments))
    return Model(name, Path(source.__file__), module, program, pytree.tree_leaves(arguments), expected)
