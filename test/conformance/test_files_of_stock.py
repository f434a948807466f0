"""Files that the stock compiler makes of networks with sizes known at run time, with and without delegates: validated,
written again from text, and compiled again for each backend.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
import stock_xnnpack_programs
import torch
from language_models import ATTENTION, VOCABULARY, random_model
from stock import compile_stock
from test_emit_stock import rewritten
from test_formed_attention import PLACES, exported_by_transformers
from test_raising import SETS
from test_raising_xnnpack import Tokens
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram
from torch.nn import functional as F

from et_backends.native.compiler import NativePartitioner
from et_backends.xnnpack.compiler.partitioner import XnnpackPartitioner
from et_ir import ExecutorchBackendConfig, raise_program
from et_ir.delegation.partitioner import Partitioner
from et_vm.run.validation import validate
from et_vm.runtime import Runtime
from examples.artefacts import digest, keep

pytestmark = pytest.mark.filterwarnings("ignore")  # of stock about itself


class Residual(nn.Module):
    """Dilated convolutions of a signal that look back only, and a sum with what they take."""

    def __init__(self, inputs: int, outputs: int, dilation: int) -> None:
        super().__init__()
        self.back = 2 * dilation
        self.first = nn.Conv1d(inputs, outputs, 3, dilation=dilation)
        self.second = nn.Conv1d(outputs, outputs, 3, dilation=dilation)
        self.beside = nn.Conv1d(inputs, outputs, 1)

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu(self.first(F.pad(x, (self.back, 0))))
        # No backend has the sum: what is before and behind it are partitions of their own.
        y = y.cumsum(1) * 0.1
        return F.relu(self.second(F.pad(y, (self.back, 0))) + self.beside(x))


Network = tuple[Callable[[], ExportedProgram], Callable[[int], Sequence[Tensor]], Sequence[int]]


def _exported(module: nn.Module, inputs: Sequence[Tensor], *dynamic: dict[int, Any]) -> ExportedProgram:
    return torch.export.export(module.eval(), tuple(inputs), dynamic_shapes=dynamic)


def _signal(length: int) -> Sequence[Tensor]:
    return [torch.linspace(-1, 1, 4 * length).reshape(1, 4, length)]


def _rows(length: int) -> Sequence[Tensor]:
    return [torch.linspace(-1, 1, 32 * length).reshape(2, length, 16)]


def _tokens(length: int) -> Sequence[Tensor]:
    return [torch.arange(length)[None] % 10]


def _prompt(length: int) -> Sequence[Tensor]:
    return [torch.arange(length)[None] * 7 % VOCABULARY, torch.arange(length)]


def _length(least: int, most: int) -> Any:
    return Dim("length", min=least, max=most)


NETWORKS: Final[dict[str, Network]] = {
    "residuals": (
        lambda: _exported(
            nn.Sequential(Residual(4, 8, 1), Residual(8, 8, 2), Residual(8, 16, 4)),
            _signal(9),
            {2: _length(2, 24)},
        ),
        _signal,
        (9, 2, 24),
    ),
    "encoder": (
        lambda: _exported(
            nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), _rows(5), {1: _length(2, 12)}
        ),
        _rows,
        (5, 12, 2),
    ),
    "tokens": (lambda: _exported(Tokens(), _tokens(5), {1: _length(2, 12)}), _tokens, (5, 12, 2)),
    "decoder": (
        lambda: exported_by_transformers(random_model(ATTENTION["llama"]())),
        _prompt,
        (3, PLACES - 1, 1),
    ),
}
"""Networks, inputs of a size, and sizes."""
COMPILERS: Final[dict[str, Callable[[ExportedProgram], bytes]]] = {
    "kernels": compile_stock,
    "xnnpack": stock_xnnpack_programs.lowered_program,
}
BACKENDS: Final[dict[str, Callable[[], Partitioner]]] = {
    "xnnpack": XnnpackPartitioner,
    "native": lambda: NativePartitioner(instruction_sets=[SETS[-1]], algorithm="direct"),
}


FileOf = Callable[[str, str], bytes]


@pytest.fixture(scope="module")
def file_of(pytestconfig: pytest.Config) -> FileOf:
    """The file of a network by a compiler, kept until this page or the stock toolchain changes."""
    folder = pytestconfig.cache.mkdir("stock")
    key = digest(Path(__file__), *(version(name) for name in ("executorch", "torch", "transformers")))

    def make(name: str, compiler: str, draft: Path) -> dict[str, Any]:
        torch.manual_seed(0)
        with warnings.catch_warnings(action="ignore"):  # of transformers about its own code
            draft.write_bytes(COMPILERS[compiler](NETWORKS[name][0]()))
        return {}

    def read(name: str, compiler: str) -> bytes:
        path = folder / f"{name}.sized.{compiler}.pte"
        keep(path, key, partial(make, name, compiler))
        return path.read_bytes()

    return read


def results(file: bytes, name: str) -> list[Any]:
    """The results for each size, of a method that has not run before."""
    _, inputs, sizes = NETWORKS[name]
    program = Runtime().load_program(file, poison=True, allow_native=True)
    return [
        np.array(one)
        for size in sizes
        for one in program.load_method("forward").execute([given.clone() for given in inputs(size)])
    ]


def check(file: bytes, name: str, expected: bytes) -> None:
    found = validate(memoryview(file))
    assert [str(error) for error in (*found.problems, *found.clashes)] == []
    for ours, theirs in zip(results(file, name), results(expected, name), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


FILES = [pytest.param(name, compiler, id=f"{name}-{compiler}") for name in NETWORKS for compiler in COMPILERS]


@pytest.mark.sweep
@pytest.mark.parametrize(("name", "compiler"), FILES)
def test_text(name: str, compiler: str, file_of: FileOf) -> None:
    file = file_of(name, compiler)
    again = rewritten(file)
    assert rewritten(again) == again
    check(again, name, file)


@pytest.mark.sweep
@pytest.mark.parametrize("backend", ["", *BACKENDS])
@pytest.mark.parametrize(("name", "compiler"), FILES)
def test_compiled_again(name: str, compiler: str, backend: str, file_of: FileOf) -> None:
    file = file_of(name, compiler)
    edge = raise_program(file)
    if backend:
        edge = edge.to_backend(BACKENDS[backend]())
    check(edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer, name, file)
