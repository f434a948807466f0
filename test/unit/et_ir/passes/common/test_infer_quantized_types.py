"""Types of quantized values: their text round-trips, and without them the program is what it was."""

from __future__ import annotations

import io

import numpy as np
import pytest
from support.random_quantized import random_program
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import ParseError

from et_ir.dialects.program import Numbers, QuantizedType, quantized_type_of
from et_ir.driver.stages import run_pipeline
from et_ir.passes.common.erase_quantized_types import erase_quantized_types
from et_ir.passes.common.infer_quantized_types import infer_quantized_types
from et_ir.text import parse_module, print_module
from et_tools.reading import compiler_context


def _text(module: ModuleOp) -> str:
    stream = io.StringIO()
    print_module(module, stream)
    return stream.getvalue()


def test_random_programs() -> None:
    for seed in range(20):
        module = random_program(seed).module
        before = _text(module)
        infer_quantized_types(module)
        typed = _text(module)
        made = [value for op in module.walk() for value in op.results if "quantize_per_" in op.name]
        made = [value for value in made if not value.type.element_type.name.startswith("f")]
        assert made
        assert all(quantized_type_of(value) is not None for value in made), seed
        assert _text(parse_module(compiler_context(), typed, "typed.mlir")) == typed, seed
        run_pipeline(module, "verify-edge")
        erase_quantized_types(module)
        assert _text(module) == before, seed


@pytest.mark.parametrize("number", [1e-6, 0.1, 1 / 3, 1e3, 255.0, 1e-38, 3e38, 16777216.0, 0.012345678901])
def test_numbers_are_those_of_single_precision(number: float) -> None:
    text = f"!program.quantized<i8 [-128, 127], tensor, scale = {Numbers.of([number])}, zero_point = -3>"
    (value,) = _method(text).body.block.args
    found = quantized_type_of(value)
    assert isinstance(found, QuantizedType)
    assert found.data.scale.values == (float(np.float32(number)),)
    assert str(found) == text


def test_many_numbers_are_told_apart() -> None:
    numbers = [1.0 + 0.01 * place for place in range(9)]
    swapped = [numbers[0], *reversed(numbers[1:-1]), numbers[-1]]
    assert Numbers.of(numbers).values == Numbers.of(swapped).values
    assert Numbers.of(numbers) != Numbers.of(swapped)
    assert Numbers.of(numbers) == Numbers.of(tuple(numbers))


def test_many_numbers_need_a_hash() -> None:
    with pytest.raises(ParseError, match="string literal expected"):
        _method("!program.quantized<i8 [-128, 127], channel 0, scale = 9 in [1.0, 2.0], zero_point = 0>")


@pytest.mark.parametrize("numbers", ["scale = 1.0e-60, zero_point = 0", "scale = 1.0, zero_point = 300"])
def test_numbers_that_no_type_has(numbers: str) -> None:
    quantize = "edge.quantized_decomposed.quantize_per_tensor %x"
    arguments = f"{numbers}, quant_min = -128, quant_max = 127, dtype = i8"
    text = f"""func.func @forward(%x: tensor<4xf32>) -> tensor<4xi8> {{
  %0 = {quantize} {{{arguments}}} : (tensor<4xf32>) -> tensor<4xi8>
  func.return %0 : tensor<4xi8>
}}"""
    module = parse_module(compiler_context(), text, "text.mlir")
    before = _text(module)
    infer_quantized_types(module)
    assert _text(module) == before


def _method(element: str):
    text = f"func.func @forward(%x: tensor<4x{element}>) {{ func.return }}"
    (method,) = parse_module(compiler_context(), text, "text.mlir").body.block.ops
    return method
