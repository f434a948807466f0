"""Files of the stock compiler for its quantized kernels: opened, written again, and compiled for other targets.

Stock's quantizer, fusion of quantized operators and compiler make them; the stock runtime with its quantized
library is the oracle.
"""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from stock import StockRuntime
from stock_xnnpack_programs import calibrated
from support.quantized_nets import made
from torch import nn

from et_ir import ExecutorchBackendConfig, raise_program
from et_ir.backends import make_partitioner
from et_ir.emit import disassemble, write
from et_schema.pte import read_pte
from et_vm.runtime import Runtime

NETS = ("mlp", "image", "residual", "twice")
TABLES = {"table of 8 bits": (torch.int8, None), "table of 4 bits in groups": (torch.int4, 16)}
"""Embeddings that torchao quantizes, which stock fuses with the lookup: element types, and groups."""
QUANTIZED = "quantized_decomposed::"


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]
    """Without what torchao and stock say of themselves."""
    logging.disable(logging.WARNING)
    with warnings.catch_warnings(action="ignore"):
        yield
    logging.disable(logging.NOTSET)


def table(dtype: torch.dtype, group: int | None) -> nn.Module:
    from torchao.quantization.granularity import PerAxis, PerGroup
    from torchao.quantization.quant_api import IntxWeightOnlyConfig, quantize_
    from torchao.utils import unwrap_tensor_subclass

    torch.manual_seed(0)
    module = nn.Sequential(nn.Embedding(20, 64), nn.ReLU())
    granularity = PerAxis(0) if group is None else PerGroup(group)
    config = IntxWeightOnlyConfig(weight_dtype=dtype, granularity=granularity)
    quantize_(module, config, lambda one, _: isinstance(one, nn.Embedding))
    return unwrap_tensor_subclass(module)


@cache
def stock_file(name: str) -> tuple[bytes, tuple[torch.Tensor, ...]]:
    """The stock compiler's file of a quantized network, and its inputs."""
    import executorch.kernels.quantized  # noqa: F401  # pyright: ignore[reportUnusedImport]  (registers out variants)
    from executorch.exir import EdgeCompileConfig, to_edge
    from executorch.exir.passes.quant_fusion_pass import quant_fusion_and_const_prop_pass

    if name in NETS:
        module, inputs = made(name)
        module = calibrated(module, inputs)
    else:
        module, inputs = table(*TABLES[name]), (torch.tensor([[3, 0, 19], [7, 7, 1]]),)
    config = EdgeCompileConfig(_check_ir_validity=False)
    edge = to_edge(torch.export.export(module, inputs), compile_config=config)
    fused = quant_fusion_and_const_prop_pass(edge.exported_program())
    edge._edge_programs["forward"] = fused  # pyright: ignore[reportPrivateUsage]  (as ExecuTorch's own code does)
    return edge.to_executorch().buffer, inputs


def kernels(file: bytes) -> set[str]:
    return {op.name for op in read_pte(file).program.execution_plan[0].operators}


def outputs(file: bytes, inputs: Any) -> list[np.ndarray]:
    method = Runtime().load_program(file, allow_native=True, poison=True).load_method("forward")
    return [np.array(one) for one in method.execute([one.numpy() for one in inputs])]


def test_fused_kernels_are_in_the_files() -> None:
    assert f"{QUANTIZED}dequantize_per_channel" in kernels(stock_file("mlp")[0])
    assert f"{QUANTIZED}embedding_4bit" in kernels(stock_file([*TABLES][1])[0])


@pytest.mark.parametrize("name", [*NETS, *TABLES])
def test_opened_and_compiled_for_other_targets(
    name: str, quantized_stock: StockRuntime, tmp_path: Path
) -> None:
    file, inputs = stock_file(name)
    (tmp_path / "stock.pte").write_bytes(file)
    expected = [one.numpy() for one in quantized_stock.run(tmp_path / "stock.pte", inputs)]
    module = disassemble(read_pte(file))
    module.verify()
    stream = io.BytesIO()
    write(module, stream)
    (tmp_path / "again.pte").write_bytes(stream.getvalue())
    for found, wanted in zip(quantized_stock.run(tmp_path / "again.pte", inputs), expected, strict=True):
        np.testing.assert_array_equal(found.numpy(), wanted)
    raised = raise_program(file)
    config = ExecutorchBackendConfig(target="et-vm")
    native = raised.to_backend(make_partitioner("native"))
    assert "backend.call" in {op.name for op in native.module.walk()}
    files = [file, raised.to_executorch(config).buffer, native.to_executorch(config).buffer]
    for compiled in files:
        for found, wanted in zip(outputs(compiled, inputs), expected, strict=True):
            # Sums that are next to the middle between two steps are rounded either way.
            step = np.diff(np.unique(wanted)).min() if name in NETS else 1e-5 * np.abs(wanted).max()
            assert np.abs(found - wanted).max() <= 1.01 * step
