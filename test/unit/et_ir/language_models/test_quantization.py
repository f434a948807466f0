"""Weights of language models quantized in place, as torchao does it layer by layer."""

from __future__ import annotations

from copy import deepcopy
from math import isnan

import pytest
import torch
from language_models import ATTENTION, EXPERTS, random_model
from torchao.quantization.granularity import PerAxis, PerGroup
from torchao.quantization.quant_api import (
    Int8DynamicActivationIntxWeightConfig,
    IntxWeightOnlyConfig,
    quantize_,
)

from et_ir.language_models import quantize_weights
from et_ir.language_models.experts import QuantizedMatrices, experts_layout, use_experts
from et_ir.quantization import QuantizationError, QuantizationMode

TOKENS = torch.arange(12)[None] % 64
CONFIGS = {
    "8da4w:group=16": Int8DynamicActivationIntxWeightConfig(
        weight_dtype=torch.int4, weight_granularity=PerGroup(16), weight_scale_dtype=torch.bfloat16
    ),
    "int8-dynamic": Int8DynamicActivationIntxWeightConfig(
        weight_dtype=torch.int8, weight_granularity=PerAxis(0)
    ),
    "int8-weights": IntxWeightOnlyConfig(torch.int8, PerAxis(0)),
}


@pytest.mark.parametrize("mode", CONFIGS)
def test_same_as_torchao(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("et_ir.quantization.rows.ELEMENTS", 100)  # three rows at a time
    model = random_model(ATTENTION["llama"]())
    expected = deepcopy(model)
    quantize_(expected, CONFIGS[mode], lambda one, _: isinstance(one, torch.nn.Linear))
    rows = IntxWeightOnlyConfig(torch.int8, PerAxis(0))
    quantize_(expected, rows, lambda one, _: isinstance(one, torch.nn.Embedding))
    found = quantize_weights(model, QuantizationMode.parse(mode))
    assert found.module is model
    assert not found.unquantized
    with torch.no_grad():
        wanted, given = (one(TOKENS, use_cache=False).logits for one in (expected, model))
    torch.testing.assert_close(given, wanted, rtol=0, atol=0)
    layers = {one.name: one for one in found.layers}
    assert layers["model.embed_tokens"].bytes_after == 64 * 32 + 64 * 4
    head = layers["lm_head"]
    scales = 64 * 2 * 4 if "group" in mode else 64 * 4
    assert head.bytes_after == 64 * 32 * (4 if "group" in mode else 8) // 8 + scales
    assert 15 < head.weight_sqnr < 60
    assert isnan(head.output_sqnr)


def test_tables_of_4_bits() -> None:
    model = random_model(ATTENTION["llama"]())
    found = quantize_weights(model, QuantizationMode.parse("8da4w:group=16,embedding=4"))
    layers = {one.name: one for one in found.layers}
    assert layers["model.embed_tokens"].bytes_after == 64 * 32 // 2 + 64 * 2 * 4
    assert 15 < layers["model.embed_tokens"].weight_sqnr < 60


def test_layers_left_in_floats() -> None:
    found = quantize_weights(
        random_model(ATTENTION["llama"]()), QuantizationMode.parse("8da4w:group=64"), ["lm_head"]
    )
    reasons = {one.module: one.reason for one in found.unquantized}
    assert reasons["lm_head"] == "left in floats by configuration"
    assert reasons["model.layers.0.self_attn.q_proj"] == "groups of 64 do not divide its 32 inputs"
    assert {one.name for one in found.layers} == {
        "model.embed_tokens",
        *(f"model.layers.{layer}.mlp.down_proj" for layer in range(2)),
    }


@pytest.mark.parametrize(
    ("mode", "keep", "message"), [("int8", [], "from data"), ("8da4w", ["head*"], "no module's path")]
)
def test_refusals(mode: str, keep: list[str], message: str) -> None:
    with pytest.raises(QuantizationError, match=message):
        quantize_weights(random_model(ATTENTION["llama"]()), QuantizationMode.parse(mode), keep)


@pytest.mark.parametrize("mode", CONFIGS)
@pytest.mark.parametrize(
    ("family", "block"), [("mixtral", "mlp"), ("gpt_oss", "mlp"), ("llama4", "feed_forward")]
)
def test_experts(family: str, block: str, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Matrices of experts, stored transposed or not, are what torchao makes of linear layers with them."""
    monkeypatch.setattr("et_ir.quantization.rows.ELEMENTS", 100)
    model = random_model(EXPERTS[family]())
    experts = getattr(model.model.layers[0], block).experts
    layout = experts_layout(experts)
    assert layout is not None
    stored = experts.down_proj.detach().clone()
    matrices = stored.transpose(1, 2) if layout.is_transposed else stored
    found = quantize_weights(model, QuantizationMode.parse(mode))
    assert not found.unquantized
    quantized: QuantizedMatrices = experts.down_proj
    rows = torch.randn(5, matrices.shape[2], generator=torch.Generator().manual_seed(0))
    selected = quantized.selected(torch.tensor([3, 0, 3]))
    for expert, matrix in enumerate(matrices):
        linear = torch.nn.Linear(matrix.shape[1], matrix.shape[0], bias=False)
        linear.weight = torch.nn.Parameter(matrix.contiguous(), requires_grad=False)
        quantize_(linear, CONFIGS[mode])
        expected = linear.weight.dequantize()
        torch.testing.assert_close(quantized.matrix(expert), expected, rtol=1e-6, atol=0)
        given = quantized.rounded(rows) @ quantized.matrix(expert).T
        torch.testing.assert_close(given, linear(rows), rtol=1e-5, atol=1e-6)
    for row, expert in enumerate([3, 0, 3]):
        torch.testing.assert_close(selected[row], quantized.matrix(expert), rtol=0, atol=0)
    (layer,) = (one for one in found.layers if one.name == f"model.layers.0.{block}.experts.down_proj")
    bits = 4 if mode.startswith("8da4w") else 8
    groups = stored.numel() // 16 if bits == 4 else stored.numel() // matrices.shape[2]
    assert (layer.bytes_before, layer.bytes_after) == (
        stored.numel() * 4,
        stored.numel() * bits // 8 + groups * 4,
    )


@pytest.mark.parametrize("mode", CONFIGS)
def test_experts_of_16_bits(mode: str) -> None:
    """Products are of the element type that the matrices had, of many tokens and of few."""
    model = random_model(EXPERTS["gpt_oss"]()).to(torch.bfloat16)
    experts = model.model.layers[0].mlp.experts
    before = experts.down_proj.detach().transpose(1, 2).clone()
    quantize_weights(model, QuantizationMode.parse(mode))
    use_experts(model)
    linear = torch.nn.Linear(*before.shape[:0:-1], bias=False)
    linear.weight = torch.nn.Parameter(before[3].contiguous(), requires_grad=False)
    quantize_(linear, CONFIGS[mode])
    matrix, (selected,) = experts.down_proj.matrix(3), experts.down_proj.selected(torch.tensor([3]))
    torch.testing.assert_close(matrix, linear.weight.dequantize(), rtol=1e-2, atol=0)
    torch.testing.assert_close(selected, matrix, rtol=0, atol=0)
    tokens = torch.arange(5)[None]
    with torch.no_grad():
        together = model(input_ids=tokens, use_cache=False).logits[:, 0]
        alone = model(input_ids=tokens[:, :1], use_cache=False).logits[:, 0]
    assert together.dtype is torch.bfloat16
    torch.testing.assert_close(together, alone, rtol=2e-2, atol=2e-3)


def test_experts_in_floats() -> None:
    """By a pattern, and where groups do not divide rows."""
    model = random_model(EXPERTS["mixtral"]())
    mode = QuantizationMode.parse("8da4w:group=64")  # of down_proj's 64 inputs, but not of 32
    found = quantize_weights(model, mode, ["model.layers.1.mlp.experts"])
    reasons = {one.module: one.reason for one in found.unquantized if "experts" in one.module}
    assert reasons["model.layers.0.mlp.experts.gate_up_proj"] == "groups of 64 do not divide its 32 inputs"
    assert reasons["model.layers.1.mlp.experts.down_proj"] == "left in floats by configuration"
    assert isinstance(model.model.layers[0].mlp.experts.down_proj, QuantizedMatrices)
    assert isinstance(model.model.layers[1].mlp.experts.down_proj, torch.nn.Parameter)
