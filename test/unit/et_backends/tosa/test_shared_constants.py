"""Weights that several blobs share, in the file once."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from et_backends.tosa.compiler.partitioner import TosaCompileSpec, TOSAPartitioner
from et_backends.tosa.format.blob import read_tosa
from et_backends.tosa.runtime.program import TosaProgram
from et_backends.tosa.validation import errors
from et_ir import ExecutorchBackendConfig, to_edge_transform_and_lower
from et_schema.errors import InvalidFile
from et_schema.pte import read_pte
from et_tools.info.delegate_weights import delegate_weights
from et_tools.vm_blobs import blob_problems
from et_vm.program import Program
from et_vm.run.validation import validate
from et_vm.runtime import Runtime

HIDDEN = 64


class Layers(nn.Module):
    """Two layers: those of other methods too."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(HIDDEN, HIDDEN), nn.Linear(HIDDEN, HIDDEN)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(torch.relu(self.first(x)))


class Prefix(nn.Module):
    """The first layer of a module alone."""

    def __init__(self, whole: Layers) -> None:
        super().__init__()
        self.whole = whole

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.whole.first(x))


def program(methods: dict[str, tuple[nn.Module, tuple[torch.Tensor, ...]]]) -> bytes:
    exported = {
        name: torch.export.export(module.eval(), inputs) for name, (module, inputs) in methods.items()
    }
    partitioner = [TOSAPartitioner(TosaCompileSpec("TOSA-1.0+FP"))]
    edge = to_edge_transform_and_lower(exported, partitioner=partitioner)
    return edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer


def shared(file: bytes) -> dict[str, memoryview]:
    return {key: data for key, data in read_pte(file).named_data().items() if key.startswith("tosa_")}


@pytest.fixture(scope="module")
def methods() -> dict[str, tuple[nn.Module, tuple[torch.Tensor, ...]]]:
    whole = Layers()
    long, short = torch.randn(8, HIDDEN), torch.randn(1, HIDDEN)
    return {"prefill": (whole, (long,)), "decode": (whole, (short,)), "encode": (Prefix(whole), (long,))}


@pytest.fixture(scope="module")
def file(methods: dict[str, tuple[nn.Module, tuple[torch.Tensor, ...]]]) -> bytes:
    return program(methods)


def test_bytes_and_results(
    methods: dict[str, tuple[nn.Module, tuple[torch.Tensor, ...]]], file: bytes
) -> None:
    weights = 2 * 4 * HIDDEN * HIDDEN
    assert weights < len(file) < 1.5 * weights
    assert [data.nbytes for data in shared(file).values()] == [weights // 2] * 2
    loaded = Runtime.get().load_program(file)
    for name, (module, inputs) in methods.items():
        (got,) = loaded.load_method(name).execute(list(inputs))
        torch.testing.assert_close(torch.as_tensor(got), module(*inputs), rtol=1e-5, atol=1e-5)


def test_tools(file: bytes) -> None:
    weights = delegate_weights(Program.load(file), {}).weights
    found = [one for one in weights if one.facts["nbytes"] == 4 * HIDDEN * HIDDEN]
    assert sorted(one.facts["uses"] for one in found) == [2, 3]
    assert all(np.isfinite(one.values()).all() for one in found)
    assert validate(memoryview(file), None).problems == []
    assert list(blob_problems(memoryview(file), None)) == []


def test_a_blob_alone_is_a_tosa_file(methods: dict[str, tuple[nn.Module, tuple[torch.Tensor, ...]]]) -> None:
    assert shared(program({"prefill": methods["prefill"]})) == {}


def test_missing_data(file: bytes) -> None:
    pte = read_pte(file)
    reference = pte.program.execution_plan[0].delegates[0].processed
    assert reference is not None
    graph = read_tosa(pte.delegate_data(reference))
    named = pte.named_data()
    TosaProgram(graph, named_data=named)
    shorter = {key: data[:-4] for key, data in named.items()}
    for found in ({}, shorter):
        with pytest.raises(InvalidFile, match=f"no data named 'tosa_.*' of {4 * HIDDEN * HIDDEN} bytes"):
            TosaProgram(graph, named_data=found)
    # What is in a data file is looked at when the program is loaded with it.
    assert list(errors(pte.delegate_data(reference), None, {})) == []
    assert [str(one) for one in errors(pte.delegate_data(reference), None, shorter)] != []
