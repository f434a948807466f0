"""Ethos-U programs: blobs as ExecuTorch packs what Vela makes, and what Vela says of ops that are left out."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import torch
from example_models import build
from support.programs import Calls
from support.random_quantized import random_program
from torch import nn
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from et_backends.ethos_u.compiler import EthosUCompileSpec, EthosUPartitioner, backend, vela
from et_backends.tosa.compiler import TosaCompileSpec, TOSAPartitioner
from et_ir import ExecutorchBackendConfig, to_edge_transform_and_lower
from et_ir.driver.managers import EdgeProgramManager
from et_ir.quantization import XNNPACKQuantizer, get_symmetric_quantization_config
from et_schema.pte import read_pte
from et_tools.vm_blobs import blob_problems

TARGETS = ("ethos-u55-128", "ethos-u85-256")


def quantized(program: torch.export.ExportedProgram, inputs: Any) -> torch.export.ExportedProgram:
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
    with warnings.catch_warnings(action="ignore"):
        prepared = prepare_pt2e(program.module(), quantizer)
        prepared(*inputs)
        return torch.export.export(convert_pt2e(prepared), inputs)


def blobs(program: torch.export.ExportedProgram, partitioner: Any, **config: Any) -> list[bytes]:
    edge = to_edge_transform_and_lower(program, partitioner=partitioner)
    pte = read_pte(edge.to_executorch(ExecutorchBackendConfig(**config)).buffer)
    plan = pte.program.execution_plan[0]
    return [bytes(pte.delegate_data(one.processed)) for one in plan.delegates if one.processed is not None]


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["digits", "mobilenet_v2", "resnet18", "bert"])
def test_blobs_are_those_of_stock(name: str, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Byte by byte, for the same TOSA. Nothing that Vela gets falls back to a processor beside the Ethos-U."""
    with warnings.catch_warnings(action="ignore"):
        from executorch.backends.arm.arm_vela import vela_compile

    model = build(name)
    inputs = tuple(torch.as_tensor(one) for one in model.inputs)
    networks: list[bytes] = []

    def compiled(tosa: bytes, flags: Any) -> vela.VelaResult:
        networks.append(tosa)
        return vela.compile_tosa(tosa, flags)

    monkeypatch.setattr(backend, "compile_tosa", compiled)
    spec = EthosUCompileSpec(target)
    found = blobs(quantized(model.program, inputs), EthosUPartitioner(spec), extra_backends=["EthosUBackend"])
    assert found
    wanted = [vela_compile(network, list(spec.flags)).processed_bytes for network in networks]
    assert Counter(found) == Counter(wanted)


@pytest.mark.sweep
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("seed", range(8))
def test_random_programs(seed: int, target: str) -> None:
    """Vela compiles what is taken of a quantized program, to a blob that is read."""
    edge = EdgeProgramManager(random_program(seed).module)
    made = edge.to_backend(EthosUPartitioner(EthosUCompileSpec(target)))
    config = ExecutorchBackendConfig(target="et-vm", extra_backends=["EthosUBackend"])
    assert not list(blob_problems(memoryview(made.to_executorch(config).buffer), None))


UNARY: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "logical_not": torch.logical_not,
    "bitwise_not": torch.bitwise_not,
    "abs": torch.abs,
    "neg": torch.neg,
    "sum": lambda x: x.sum(-1, dtype=x.dtype),
    "amax": lambda x: x.amax(-1),
    "any": lambda x: x.any(-1),
    "flip": lambda x: x.flip(1),
    "clamp": lambda x: x.clamp(1, 3),
    "permute": lambda x: x.permute(0, 2, 3, 1).contiguous(),
    "slice": lambda x: x[:, 1:3].clone(),
    "expand": lambda x: x[:, :1].expand(1, 4, 4, 8).clone(),
    "pad": lambda x: nn.functional.pad(x, (1, 1)),
    "to_i32": lambda x: x.to(torch.int32),
    "to_bool": lambda x: x.to(torch.bool),
}
BINARY: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "logical_and": torch.logical_and,
    "bitwise_xor": torch.bitwise_xor,
    "eq": torch.eq,
    "gt": torch.gt,
    "add": torch.add,
    "mul": torch.mul,
    "maximum": torch.maximum,
    "cat": lambda x, y: torch.cat([x, y], 1),
    "where": lambda x, y: torch.where(x > y, x, y),
}
SINGLES: dict[str, Callable[..., torch.Tensor]] = {**UNARY, **BINARY}


@pytest.mark.parametrize("dtype", [torch.int8, torch.int32, torch.bool], ids=str)
@pytest.mark.parametrize("name", SINGLES)
def test_what_is_left_out(name: str, dtype: torch.dtype) -> None:
    """An op of integers that TOSA computes is taken exactly if Vela compiles it."""
    inputs = (torch.ones(1, 4, 4, 8).to(dtype),) * (2 if name in BINARY else 1)
    try:
        SINGLES[name](*inputs)
    except RuntimeError:
        return  # torch does not compute it either
    program = torch.export.export(Calls(SINGLES[name]), inputs)
    networks = blobs(program, TOSAPartitioner(TosaCompileSpec("TOSA-1.0+INT")), target="et-vm")
    for target in TARGETS:
        spec = EthosUCompileSpec(target)
        taken = blobs(program, EthosUPartitioner(spec), extra_backends=["EthosUBackend"])
        if taken or not networks:
            continue  # Vela has compiled it, or nobody computes it
        with pytest.raises(ValueError, match=r"could not run on NPU|not supported"):
            [vela.compile_tosa(network, spec.flags) for network in networks]
