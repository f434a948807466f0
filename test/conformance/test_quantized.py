"""Quantized programs end to end, bit-identical to eager with both kernel libraries and on stock:
as arithmetic where that has only its own kernels, and with those of its library for quantised programs.
"""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from kernel_samples_quantized import recorded_stock_calls
from quantized_programs import PROGRAMS
from stock import StockRuntime
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

from dev.calls import DTYPES, tensor_type
from et_ir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge
from et_ir.dialects.edge import OP_BY_NAME
from et_ir.dialects.executorch import KernelCallOp
from et_ir.dialects.schema.literals import ELEMENT_TYPES
from et_ir.driver.pipelines import executorch_passes
from et_ir.driver.stages import run_passes
from et_ir.emit import EmitOptions, write
from et_ir.passes.verify.verify_edge import VerifyEdgePass
from et_ir.targets.lookup import DEFAULT
from et_ops import operator_of_kernel
from et_vm.runtime import Runtime

PREFIX = "quantized_decomposed::"


def same(actual: Any, expected: tuple[torch.Tensor, ...]) -> None:
    assert len(actual) == len(expected)
    for at, (got, wanted) in enumerate(zip(actual, expected, strict=True)):
        exact = {"rtol": 0, "atol": 0} if wanted.dtype != torch.float32 else {}
        torch.testing.assert_close(
            got, wanted.contiguous(), equal_nan=True, msg=lambda m, at=at: f"result {at}: {m}", **exact
        )


def run(buffer: bytes, kernels: str, inputs: tuple[torch.Tensor, ...]) -> Any:
    return Runtime.get().load_program(buffer, kernels=kernels).load_method("forward").execute(inputs)


def lowered(name: str, target: str) -> tuple[Any, Any, tuple[torch.Tensor, ...]]:
    """A program for a target, its inputs, and what eager mode makes of them."""
    module, inputs = PROGRAMS[name]()
    with torch.no_grad():
        expected = module(*inputs)
    config = ExecutorchBackendConfig(target=target)
    return to_edge(torch.export.export(module, inputs)).to_executorch(config), inputs, expected


def kernels_of(program: Any) -> set[str]:
    calls = {op.key for op in program.module.walk() if isinstance(op, KernelCallOp)}
    return {name for name in calls if name.startswith(PREFIX)}


@pytest.mark.parametrize("name", PROGRAMS)
def test_on_the_vm(name: str) -> None:
    program, inputs, expected = lowered(name, "et-vm")
    assert kernels_of(program)
    for library in ("portable", "aten"):
        same(run(program.buffer, library, inputs), expected)


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_arithmetic(name: str, stock: StockRuntime, tmp_path: Path) -> None:
    program, inputs, expected = lowered(name, DEFAULT)
    assert not kernels_of(program)
    for library in ("portable", "aten"):
        same(run(program.buffer, library, inputs), expected)
    program.save(tmp_path / "model.pte")
    same(stock.run(tmp_path / "model.pte", inputs), expected)


@pytest.mark.parametrize("name", PROGRAMS)
def test_with_stock_kernels(name: str, quantized_stock: StockRuntime, tmp_path: Path) -> None:
    program, inputs, expected = lowered(name, f"{DEFAULT}-quantized")
    program.save(tmp_path / "model.pte")
    same(quantized_stock.run(tmp_path / "model.pte", inputs), expected)
    for library in ("portable", "aten"):
        same(run(program.buffer, library, inputs), expected)


def runtime_call(call: Any) -> tuple[ModuleOp, tuple[torch.Tensor, ...]]:
    """A module at the edge level that makes a call of an operator which torch does not define, and its inputs."""
    operator = operator_of_kernel(call.operator)
    assert operator is not None
    cls = OP_BY_NAME[operator.name]
    inputs = tuple(a for a in call.arguments if isinstance(a, torch.Tensor))
    block = Block(arg_types=[tensor_type(value) for value in inputs])
    values = iter(block.args)
    arguments = [
        next(values)
        if isinstance(a, torch.Tensor)
        else ELEMENT_TYPES[DTYPES[a]]
        if isinstance(a, torch.dtype)
        else a
        for a in call.arguments
    ]
    op = cls.make(*arguments)
    block.add_ops([op, ReturnOp(*op.results)])
    types = [value.type for value in block.args]
    return ModuleOp([FuncOp("forward", (types, op.result_types), Region(block))]), inputs


def compiled(module: ModuleOp, target: str) -> bytes:
    lowered = module.clone()
    run_passes(lowered, [VerifyEdgePass(), *executorch_passes(ExecutorchBackendConfig(target=target))])
    stream = io.BytesIO()
    write(lowered, stream, EmitOptions())
    return stream.getvalue()


def test_operators_that_only_runtimes_have(
    stock: StockRuntime, quantized_stock: StockRuntime, tmp_path: Path
) -> None:
    """Sums, embeddings and mixed products: the results are those of the stock kernels."""
    seen: set[str] = set()
    for call in recorded_stock_calls():
        module, inputs = runtime_call(call)
        sums = "mixed" in call.operator
        for target, runtime in (
            (DEFAULT, stock),
            (f"{DEFAULT}-quantized", quantized_stock),
            ("et-vm", None),
        ):
            buffer = compiled(module, target)
            found = [run(buffer, library, inputs) for library in ("portable", "aten")]
            if runtime is not None and (call.operator, target) not in seen:
                (tmp_path / "model.pte").write_bytes(buffer)
                found.append(runtime.run(tmp_path / "model.pte", inputs))
                seen.add((call.operator, target))
            for (got,) in found:
                # Stock adds the products of f16 in f16.
                limit = 0 if not sums else 3e-2 if got.dtype == torch.float16 else 1e-5
                torch.testing.assert_close(
                    got,
                    call.results[0],
                    rtol=limit,
                    atol=limit,
                    msg=lambda m, c=call, t=target: f"{c} {t} {m}",
                )


class Weighted(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.register_buffer("weight", torch.randint(-127, 128, (64, 128), dtype=torch.int8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weight = torch.ops.quantized_decomposed.dequantize_per_tensor(
            self.weight, 0.01, 3, -128, 127, torch.int8
        )
        return torch.nn.functional.linear(x, weight)


@pytest.mark.parametrize("target", [DEFAULT, f"{DEFAULT}-quantized", "et-vm"])
def test_weights_stay_integers_unless_asked_for(target: str) -> None:
    module, inputs = Weighted(), (torch.randn(2, 128),)
    exported = torch.export.export(module, inputs)
    backend = ExecutorchBackendConfig(target=target)
    kept = to_edge(exported).to_executorch(backend)
    config = EdgeCompileConfig(dequantize_weights=True)
    restored = to_edge(exported, compile_config=config).to_executorch(backend)
    assert len(kept.buffer) < module.weight.numel() + 4096
    assert len(restored.buffer) > 4 * module.weight.numel()
    assert not kernels_of(restored)
    for program in (kept, restored):
        same(run(program.buffer, "portable", inputs), (module(*inputs),))


def test_an_exported_file_is_read_where_nothing_has_loaded_the_operators(tmp_path: Path) -> None:
    module, inputs = Weighted(), (torch.randn(2, 128),)
    torch.export.save(torch.export.export(module, inputs), tmp_path / "model.pt2")
    command = [
        sys.executable,
        "-m",
        "et_tools.et_compile",
        "model.pt2",
        "-o",
        "model.pte",
        "--target",
        "et-vm",
        "-q",
    ]
    subprocess.run(command, cwd=tmp_path, check=True)
    same(run((tmp_path / "model.pte").read_bytes(), "portable", inputs), (module(*inputs),))
