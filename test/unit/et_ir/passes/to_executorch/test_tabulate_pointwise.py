"""Tables hold what the operators that they take the place of compute, for each of the 256 integers."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func
from xdsl.parser import Parser

from et_ir.dialects.edge import Edge
from et_ir.driver.configs import ExecutorchBackendConfig
from et_ir.driver.managers import EdgeProgramManager
from et_vm.runtime import Runtime

RANGE = "quant_min = -128, quant_max = 127, dtype = i8"
Q = "edge.quantized_decomposed.quantize_per_tensor"
D = "edge.quantized_decomposed.dequantize_per_tensor"


def _steps(*steps: str) -> str:
    """A method of one input of 256 integers; `%` stands for the value so far in each step."""
    lines: list[str] = []
    for at, step in enumerate(steps):
        value = f"%{at - 1}" if at else "%x"
        lines.append(f"  %{at} = {step.replace('%', value)}")
    body = "\n".join(lines)
    return (
        f"func.func @forward(%x: tensor<256xi8>) -> tensor<256xi8> {{\n{body}\n"
        f"  func.return %{len(steps) - 1} : tensor<256xi8>\n}}"
    )


def _restored(scale: float, zero_point: int) -> str:
    return (
        f"{D} % {{scale = {scale}, zero_point = {zero_point}, {RANGE}}} : (tensor<256xi8>) -> tensor<256xf32>"
    )


def _quantized(scale: float, zero_point: int) -> str:
    return (
        f"{Q} % {{scale = {scale}, zero_point = {zero_point}, {RANGE}}} : (tensor<256xf32>) -> tensor<256xi8>"
    )


PROGRAMS = {
    "requantization": _steps(_restored(0.11, 5), _quantized(0.07, -9)),
    "function": _steps(_restored(0.05, -3), "edge.tanh % : tensor<256xf32>", _quantized(0.0078125, 0)),
    "twice": _steps(
        _restored(0.11, 5),
        _quantized(0.37, -9),
        _restored(0.37, -9),
        "edge.gelu % : tensor<256xf32>",
        _quantized(0.05, -100),
    ),
}


def _parsed(text: str) -> ModuleOp:
    context = Context()
    for dialect in (Builtin, Func, Edge):
        context.load_dialect(dialect)
    return Parser(context, text).parse_module()


@pytest.mark.parametrize("name", PROGRAMS)
def test_tables(name: str) -> None:
    found: list[np.ndarray[tuple[int, ...], np.dtype[np.int8]]] = []
    for level in ("1", "0"):
        manager = EdgeProgramManager(_parsed(PROGRAMS[name]))
        lowered = manager.to_executorch(ExecutorchBackendConfig(target="et-vm", level=level))
        assert str(lowered.module).count("kernel_call") == 1 or level == "0"
        method = Runtime.get().load_program(lowered.buffer).load_method("forward")
        found.append(np.array(method.execute([np.arange(-128, 128).astype(np.int8)])[0]))
    assert np.array_equal(*found)
    assert len(np.unique(found[0])) > 10
