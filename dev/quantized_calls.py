"""Example calls of the operators of `quantized_decomposed`: those that torch defines as calls, and as text those that
only runtimes have.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import torch
import torch.ao.quantization.fx._decomposed  # pyright: ignore[reportUnusedImport]  (registers the operators)

__all__ = ["RUNTIME_EXAMPLES", "quantized_calls"]


def _example(name: str, arguments: str, types: str) -> tuple[str, str]:
    return f"quantized_decomposed.{name}", f"%result = aten.quantized_decomposed.{name} {arguments} : {types}"


def _examples() -> Iterator[tuple[str, str]]:
    sides = ", ".join(
        f"{side}_scale = {scale}, {side}_zero_point = 0, {side}_quant_min = -128, {side}_quant_max = 127"
        for side, scale in (("a", 0.1), ("b", 0.2), ("out", 0.3))
    )
    yield _example("add", f"%a, %b {{{sides}}}", "tensor<2x3xi8>")
    for name, columns, element, least in (
        ("embedding_byte", 8, "i8", -128),
        ("embedding_4bit", 4, "ui8", -8),
        ("embedding_2bit", 2, "ui8", -2),
    ):
        operands = "%weight, %weight_scales, none, %indices"
        literals = f"weight_quant_min = {least}, weight_quant_max = {-least - 1}"
        types = f"(tensor<5x{columns}x{element}>, tensor<5x2xf32>, tensor<2x3xi64>) -> tensor<2x3x8x"
        yield _example(name, f"{operands} {{{literals}}}", f"{types}f32>")
        yield _example(f"{name}.dtype", f"{operands} {{{literals}, dtype = f16}}", f"{types}f16>")
    for name, weight in (("mixed_linear", "4x3"), ("mixed_mm", "3x4")):
        types = f"(tensor<2x3xf32>, tensor<{weight}xi8>, tensor<{weight[0]}xf32>) -> tensor<2x4xf32>"
        yield _example(name, "%input, %weight, %weight_scales", types)


RUNTIME_EXAMPLES: Final = dict(_examples())
"""Examples of the operators that torch does not define, by name."""


def quantized_calls() -> Iterator[tuple[Any, ...]]:
    """Calls of each of torch's operators: an overload and its arguments, named ones in a dict at the end."""
    q: Any = torch.ops.quantized_decomposed
    i8 = torch.int8
    x = torch.rand(2, 3)
    levels = torch.zeros(2, 3, dtype=i8)
    one = torch.tensor([0.1]), torch.tensor([0])
    range_ = -128, 127
    for op, given in ((q.quantize_per_tensor, x), (q.dequantize_per_tensor, levels)):
        yield op.default, given, 0.1, 0, *range_, i8
        yield op.tensor, given, *one, *range_, i8
        yield op.tensor2, given, *one, *map(torch.tensor, range_), i8
    by_channel = torch.rand(3) + 0.1, torch.zeros(3, dtype=torch.int64)
    yield q.quantize_per_channel.default, x, *by_channel, 1, *range_, i8
    yield q.dequantize_per_channel.default, levels, *by_channel, 1, *range_, i8
    yield q.fake_quant_per_channel.default, x, *by_channel, 1, *range_
    by_row = torch.rand(2, 1) + 0.1, torch.zeros(2, 1, dtype=torch.int64)
    yield q.quantize_per_token.default, x, *by_row, *range_, i8
    yield q.dequantize_per_token.default, levels, *by_row, *range_, i8, torch.float32
    by_group = torch.rand(2, 2) + 0.1, torch.zeros(2, 2, dtype=torch.int64)
    yield q.quantize_per_channel_group.default, torch.rand(2, 4), *by_group, *range_, i8, 2
    nibbles = torch.zeros(2, 4, dtype=i8), *by_group
    yield q.dequantize_per_channel_group.default, *nibbles, *range_, i8, 2, torch.float32
    yield q.choose_qparams.tensor, x, *range_, 1e-5, i8
    yield q.choose_qparams_symmetric.tensor, x, *range_, 1e-5, i8
    yield q.choose_qparams_per_token.default, x, i8
    yield q.choose_qparams_per_token_asymmetric.default, x, i8
    yield q._choose_qparams_per_token_asymmetric_impl.default, x, i8
    yield q.convert_element_type.no_fuse, x, torch.float16
