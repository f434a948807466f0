"""Weights that methods share, in one model with a function for each of them."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn

from et_backends.coreml.compiler.partitioner import CoreMLPartitioner
from et_backends.coreml.compiler.serialization import serialize_reference
from et_backends.coreml.format.blob import CoremlReference, read_coreml, reference_of
from et_ir import ExecutorchBackendConfig, to_edge_transform_and_lower
from et_schema.errors import InvalidFile
from et_schema.pte import PteFile, read_pte
from et_tools.info.delegate_weights import delegate_weights
from et_tools.info.delegates import facts
from et_tools.vm_blobs import blob_problems
from et_vm.program import Program
from et_vm.runtime import Runtime

HIDDEN = 64
WEIGHTS = 2 * 4 * HIDDEN * HIDDEN

Methods = dict[str, tuple[nn.Module, tuple[torch.Tensor, ...]]]


def layers() -> nn.Module:
    return nn.Sequential(nn.Linear(HIDDEN, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN))


def compiled(methods: Methods) -> bytes:
    exported = {
        name: torch.export.export(module.eval(), inputs) for name, (module, inputs) in methods.items()
    }
    edge = to_edge_transform_and_lower(exported, partitioner=[CoreMLPartitioner()])
    return edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer


@pytest.fixture(scope="module")
def methods() -> Methods:
    whole, other = layers(), layers()
    long, short = torch.randn(8, HIDDEN), torch.randn(1, HIDDEN)
    return {"decode": (whole, (short,)), "other": (other, (long,)), "prefill": (whole, (long,))}


@pytest.fixture(scope="module")
def file(methods: Methods) -> bytes:
    return compiled(methods)


def blobs(file: PteFile) -> dict[str, memoryview]:
    found = {}
    for plan in file.program.execution_plan:
        reference = plan.delegates[0].processed
        assert reference is not None
        found[plan.name] = file.delegate_data(reference)
    return found


def models(file: PteFile) -> dict[str, memoryview]:
    return {key: data for key, data in file.named_data().items() if key.startswith("coreml_")}


def test_bytes_and_results(methods: Methods, file: bytes) -> None:
    assert 2 * WEIGHTS < len(file) < 2.5 * WEIGHTS
    pte = read_pte(file)
    [key] = models(pte)
    shared = {name: reference_of(blob) for name, blob in blobs(pte).items()}
    assert shared == {
        "decode": CoremlReference(key, "decode"),
        "prefill": CoremlReference(key, "prefill"),
        "other": None,
    }
    loaded = Runtime.get().load_program(file)
    for name, (module, inputs) in methods.items():
        (got,) = loaded.load_method(name).execute(list(inputs))
        torch.testing.assert_close(torch.as_tensor(got), module(*inputs), rtol=1e-5, atol=1e-5)


def test_reproducible_bytes(methods: Methods, file: bytes) -> None:
    assert compiled(methods) == file


def test_tools(file: bytes) -> None:
    program = Program.load(file)
    found = {one["method"]: one["contents"] for one in facts(program)}
    [key] = models(read_pte(file))
    assert found["decode"][1] == f"function 'decode' of {key!r} in the program's named data"
    assert any("linear" in line or "matmul" in line for line in found["decode"][2:])
    large = [one for one in delegate_weights(program, {}).weights if one.facts["nbytes"] == WEIGHTS // 2]
    assert all(one.values() is not None for one in large)
    assert list(blob_problems(memoryview(file), None)) == []


def test_references_that_make_no_sense(file: bytes) -> None:
    pte = read_pte(file)
    named = models(pte)
    blob = blobs(pte)["decode"]
    reference = reference_of(blob)
    assert reference is not None
    with pytest.raises(InvalidFile, match="the program has no model named 'coreml_"):
        read_coreml(blob, {})
    missing = serialize_reference(replace(reference, function="generate"))
    with pytest.raises(InvalidFile, match="there is no generate"):
        read_coreml(missing, named)
    for damaged in (
        b"CMJR",
        b"CMJR{}",
        b"CMJR[1]",
        b'CMJR{"version": 2, "key": "a", "functionName": "b"}',
        b"CMJR\xff",
    ):
        with pytest.raises(InvalidFile, match="the reference to a model"):
            reference_of(damaged)
