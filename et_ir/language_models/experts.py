"""Mixtures of experts as products that backends take.

There are two forms. Grouped products have rows sorted by expert, of which each is multiplied with the matrix of its own
expert only: `grouped::linear`, which machine code has a kernel for. Masked products do without such an operator. Of a
few tokens, each selects matrices, which are copied: only these are read. Of more tokens, or a number of them that
is not known, all are multiplied with the matrices of each expert, and an expert's rows are weighted, or 0 for tokens
that did not select it. transformers sorts rows by expert, and multiplies each group with its matrix; in a program of
fixed sizes, every expert would compute as many rows as tokens select experts.

Llama 4 weights what experts take, not their results, and has each compute a row for every token: its mixtures go over
the selected rows here, as others do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, cast

import torch
from torch import Tensor, nn

from et_ir.frontend.experts import grouped_linear

__all__ = ["ExpertsLayout", "QuantizedMatrices", "experts_layout", "use_experts"]

_MASKED: Final = "masked_products"
_GROUPED: Final = "grouped_products"
"""The implementations of experts by transformers' names."""
_WEIGHTED_INPUT: Final = "Llama4TextMoe"
"""The mixture, by transformers' name, that weights what its experts take."""


class QuantizedMatrices(nn.Module):
    """Matrices `[experts, N, K]` of 8-bit integers with a scale for each group of neighbours in a row.

    `scales` are `[experts, N, groups]`. With `quantizes_input`, rows that are multiplied with them are rounded to 8
    bits first, with scales computed at run time, as torchao does it for linear layers. `dtype` is that of the matrices
    in floats.
    """

    def __init__(
        self, integers: Tensor, scales: Tensor, bits: int, dtype: torch.dtype, *, quantizes_input: bool
    ):
        super().__init__()
        self.register_buffer("integers", integers)
        self.register_buffer("scales", scales)
        self.integers: Tensor
        self.scales: Tensor
        for expert, (matrix, scale) in enumerate(zip(integers, scales, strict=True)):
            # Constants of their own, of the same memory: a part of a constant would be computed, and stay outside of
            # backends, which look at weights.
            self.register_buffer(f"integers_{expert}", matrix)
            self.register_buffer(f"scales_{expert}", scale)
        # Matrices one below the other, as products of groups of rows read them.
        self.register_buffer("stacked_integers", integers.view(-1, integers.shape[-1]))
        self.register_buffer("stacked_scales", scales.view(-1, scales.shape[-1]))
        self.stacked_integers: Tensor
        self.stacked_scales: Tensor
        self._limits = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
        self._dtype = dtype
        self._quantizes_input = quantizes_input

    def rounded(self, rows: Tensor) -> Tensor:
        """The rows as products take them."""
        if not self._quantizes_input:
            return rows
        from torchao.quantization.quantize_.workflows.intx import intx_unpacked_to_int8_tensor

        return cast(Any, intx_unpacked_to_int8_tensor)._apply_int8_act_asym_per_token_quant_dequant(rows)

    def matrix(self, expert: int) -> Tensor:
        """The matrix of one expert in floats, `[N, K]`."""
        return self._floats(getattr(self, f"integers_{expert}"), getattr(self, f"scales_{expert}"))

    def stacked(self) -> Tensor:
        """The matrices of all experts in floats, one below the other, `[experts * N, K]`."""
        return self._floats(self.stacked_integers, self.stacked_scales)

    def _floats(self, integers: Tensor, scales: Tensor) -> Tensor:
        from torchao.quantization.quant_primitives import dequantize_affine

        block = (1, integers.shape[1] // scales.shape[1])
        zeros = torch.zeros_like(scales, dtype=torch.int8)
        limits = self._limits
        return dequantize_affine(
            integers, block, scales, zeros, torch.int8, *limits, output_dtype=self._dtype
        )

    def selected(self, experts: Tensor) -> Tensor:
        """The matrices of some experts in floats, `[S, N, K]`."""
        integers, scales = (one.index_select(0, experts) for one in (self.integers, self.scales))
        count, height, width = integers.shape
        groups = integers.view(count, height, scales.shape[-1], -1).to(scales.dtype)
        return (groups * scales[..., None]).view(count, height, width).to(self._dtype)


@dataclass(frozen=True)
class ExpertsLayout:
    """The parts of a module that holds the matrices of experts, with the words of transformers' decorator for it."""

    has_gate: bool = True
    has_bias: bool = False
    has_post_expert_norm: bool = False
    is_transposed: bool = False
    """Whether matrices are `[experts, K, N]`, and not `[experts, N, K]` as those of linear layers."""


_UNDECORATED: Final[Mapping[str, ExpertsLayout]] = {"Llama4TextExperts": ExpertsLayout(is_transposed=True)}
"""Classes without the decorator."""


def experts_layout(module: nn.Module) -> ExpertsLayout | None:
    """The layout of a module that holds the matrices of experts; none for other modules."""
    if not _is_decorated(module):
        return _UNDECORATED.get(type(module).__name__)
    one = cast(Any, module)
    return ExpertsLayout(one.has_gate, one.has_bias, one.has_post_expert_norm, one.is_transposed)


def _is_decorated(module: nn.Module) -> bool:
    return hasattr(module, "_is_expert_parallel")


def use_experts(model: Any, *, grouped: bool = False) -> None:
    """Have a model's mixtures of experts computed by masked products, or by grouped ones."""
    name, function = (_GROUPED, _grouped) if grouped else (_MASKED, _masked)
    if any(_is_decorated(module) for module in model.modules()):
        from transformers.integrations.moe import ALL_EXPERTS_FUNCTIONS

        cast(Any, ALL_EXPERTS_FUNCTIONS).register(name, function)
        model.set_experts_implementation(name)
    for module in model.modules():
        if type(module).__name__ == _WEIGHTED_INPUT:
            module.forward = partial(_weighted_input_mixture, module, function)


def _weighted_input_mixture(
    module: Any, function: Callable[..., Tensor], hidden_states: Tensor
) -> tuple[Tensor, Tensor]:
    """Llama 4's mixture for `[…, K]`, by a function for selected experts; the sums and the logits of all experts."""
    tokens = hidden_states.reshape(-1, module.hidden_dim)
    _, logits = module.router(tokens)
    values, experts = logits.topk(module.top_k, dim=1)
    weights = values.float().sigmoid().to(values.dtype)
    rows = (tokens[:, None] * weights[..., None]).reshape(-1, module.hidden_dim)
    # Each row selects one expert, whose result counts as it is.
    found = function(module.experts, rows, experts.reshape(-1, 1), torch.ones_like(weights).reshape(-1, 1))
    routed = found.view(-1, module.top_k, module.hidden_dim).sum(1)
    return module.shared_expert(tokens) + routed, logits


@dataclass(frozen=True)
class _Groups:
    """Rows sorted by expert."""

    experts: Tensor
    """The expert of each row, i64 `[S]`."""
    ends: Tensor
    """The first row behind those of each expert, i64 `[experts]`."""


def _grouped(module: Any, tokens: Tensor, experts: Tensor, weights: Tensor) -> Tensor:
    """Tokens `[T, K]`, of which each selects experts `[T, S]` i64 and their weights; the sums `[T, K]`."""
    selections = experts.shape[1]
    flat = experts.reshape(-1)
    is_chosen = flat[:, None] == torch.arange(module.num_experts)
    # Rows are sorted by counting: one is behind all of the experts before, and behind those of its own before it.
    counts = is_chosen.to(torch.int64).cumsum(0)
    rows_of_each = is_chosen.to(torch.int64).sum(0)
    ends = rows_of_each.cumsum(0)
    place = torch.where(is_chosen, counts + (ends - rows_of_each - 1), 0).sum(1)
    number = counts.sum(1) - 1  # of each row: all experts have as many rows up to it
    order = torch.zeros_like(place).scatter(0, place, number)
    rows = tokens.index_select(0, torch.div(order, selections, rounding_mode="floor"))
    found = _expert(module, rows, _Groups(flat.index_select(0, order), ends)).index_select(0, place)
    weighted = found * weights.reshape(-1, 1)
    return weighted.view(-1, selections, found.shape[1]).sum(1).to(tokens.dtype)


def _masked(module: Any, tokens: Tensor, experts: Tensor, weights: Tensor) -> Tensor:
    """Tokens `[T, K]`, of which each selects experts `[T, S]` i64 and their weights; the sums `[T, K]`."""
    count: Any = tokens.shape[0]
    selections = experts.shape[1]
    if isinstance(count, int) and count * selections <= module.num_experts:
        rows = tokens.repeat_interleave(selections, 0)
        found = _expert(module, rows, experts.reshape(-1)) * weights.reshape(-1, 1)
        return found.view(count, selections, -1).sum(1).to(tokens.dtype)
    result: Tensor | None = None
    for expert in range(module.num_experts):
        is_selected = experts == expert
        weight = torch.where(is_selected, weights, 0).sum(1, keepdim=True)
        # Infinite results of experts that are not selected do not count, as 0 * inf would.
        found = torch.where(is_selected.any(1, keepdim=True), _expert(module, tokens, expert) * weight, 0)
        result = found if result is None else result + found
    assert result is not None
    return result.to(tokens.dtype)


def _expert(module: Any, rows: Tensor, expert: int | Tensor | _Groups) -> Tensor:
    """The result of one expert for rows `[S, K]`, or of the expert of each row."""
    layout = experts_layout(module)
    assert layout is not None
    up = "gate_up_proj" if layout.has_gate else "up_proj"
    hidden = _product(module, layout, up, rows, expert)
    hidden = _gated(module, hidden) if layout.has_gate else module.act_fn(hidden)
    found = _product(module, layout, "down_proj", hidden, expert)
    return module.post_expert_norm(found) if layout.has_post_expert_norm else found


def _gated(module: Any, hidden: Tensor) -> Tensor:
    """Gates and what they are for side by side `[S, 2 * N]`; `[S, N]`."""
    if _is_decorated(module):
        return module._apply_gate(hidden)
    gate, up = hidden.chunk(2, dim=-1)
    return up * module.act_fn(gate)


def _product(
    module: Any, layout: ExpertsLayout, name: str, rows: Tensor, expert: int | Tensor | _Groups
) -> Tensor:
    matrices: Any = getattr(module, name)
    bias: Tensor | None = getattr(module, f"{name}_bias") if layout.has_bias else None
    is_transposed = layout.is_transposed
    if isinstance(matrices, QuantizedMatrices):
        rows, is_transposed = matrices.rounded(rows), False
    if isinstance(expert, int):
        is_quantized = isinstance(matrices, QuantizedMatrices)
        matrix = matrices.matrix(expert) if is_quantized else matrices[expert]
        own = None if bias is None else bias[expert]
        return nn.functional.linear(rows, matrix.T if is_transposed else matrix, own)
    if isinstance(expert, _Groups):
        if isinstance(matrices, QuantizedMatrices):
            stacked = matrices.stacked()
        else:
            stacked = matrices.transpose(1, 2) if is_transposed else matrices
            stacked = stacked.reshape(-1, stacked.shape[2])
        found = grouped_linear(rows, stacked, expert.ends)
        return found if bias is None else found + bias.index_select(0, expert.experts)
    if isinstance(matrices, QuantizedMatrices):
        selected = matrices.selected(expert)
    else:
        selected = matrices.index_select(0, expert)
    selected = selected if is_transposed else selected.transpose(1, 2)
    found = torch.bmm(rows[:, None], selected)[:, 0]
    return found if bias is None else found + bias.index_select(0, expert)
