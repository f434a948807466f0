"""Programs for the runtime in C, and the runtime built for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import nn

from et_ir import ExecutorchBackendConfig, to_edge
from et_ir.quantization import quantize
from et_vm.micro.host import HostLibrary, compile_library
from et_vm.micro.selection import Selection, selected_of_programs
from et_vm.micro.sources import runtime_sources
from et_vm.program import Program
from examples.digits.network import DigitsNet

__all__ = ["digits", "images", "quantized_digits", "runtime_for", "runtime_of"]


def images(count: int) -> torch.Tensor:
    """Random images for the digits network."""
    return torch.rand(count, 1, 8, 8, generator=torch.Generator().manual_seed(1))


def _network() -> nn.Module:
    torch.manual_seed(0)
    return DigitsNet().eval()


def digits(target: str) -> bytes:
    """The digits network, untrained, in floats."""
    program = to_edge(torch.export.export(_network(), (images(1),)))
    return bytes(program.to_executorch(ExecutorchBackendConfig(target=target)).buffer)


def quantized_digits() -> bytes:
    """The same in integers."""
    calibration = [(one,) for one in images(8).split(1)]
    module = quantize(_network(), calibration[0], "int8", calibration=calibration).module
    program = to_edge(torch.export.export(module, calibration[0]))
    return bytes(program.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer)


def runtime_for(folder: Path, *files: bytes) -> HostLibrary:
    """A runtime on this machine with the kernels that these programs use."""
    return runtime_of(folder, selected_of_programs([Program.load(file) for file in files]))


def runtime_of(folder: Path, selection: Selection) -> HostLibrary:
    """A runtime on this machine with selected kernels."""
    sources = runtime_sources(selection)
    for name, text in sources.items():
        (folder / name).write_text(text)
    return HostLibrary(compile_library(folder, _sources(sources), checked=True))


def _sources(names: Sequence[str] | dict[str, str]) -> list[str]:
    return [name for name in names if name.endswith(".c")]


def arrays(count: int) -> Iterator[np.ndarray]:
    """Random images as arrays, one at a time."""
    for image in images(count).split(1):
        yield image.numpy()
