"""Cached attention by `llama::custom_sdpa`, for ExecuTorch's language model runners.

Caches are `[1, places, groups, size]`, the operator's layout, so no transposition is needed. A full-attention layer
reads only positions before the end of the call; a sliding-window layer reads its ring buffer through a mask.
"""

from __future__ import annotations

import importlib
import warnings
from typing import Any, Final, cast

import torch
from torch import Tensor

from et_ir.language_models.cache import AttentionCache
from et_ir.language_models.errors import LanguageModelError

__all__ = ["NAME", "custom_sdpa", "register", "use_custom_attention"]

NAME: Final = "custom_sdpa"
"""The operator, and the implementation of attention by transformers' name."""
_SCHEMA: Final = (
    "(Tensor query, Tensor key, Tensor value, SymInt start_pos, Tensor? attn_mask=None, float drpout_p=0.0, "
    "bool is_causal=False, float? scale=None"
)
_fragments: list[Any] = []


def use_custom_attention(model: Any, layers: list[Any]) -> None:
    """Make the layers of a model use the operator for attention, over `layers` of a cache.

    Raises `LanguageModelError` for a cache of another kind, in 8 bits for instance, and a model whose attention is its
    own.
    """
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    register()
    if not all(isinstance(one, AttentionCache) and not one.is_quantized for one in layers):
        raise LanguageModelError(f"{NAME} is for layers with keys and values in floats")
    cast(Any, ALL_ATTENTION_FUNCTIONS).register(NAME, _attend)
    for module in model.modules():
        number = getattr(module, "layer_idx", None)
        if isinstance(number, int):
            module.attention_cache = layers[number]
    try:
        model.set_attn_implementation(NAME)
    except ValueError as error:
        first = str(error).partition(". ")[0]
        raise LanguageModelError(f"{NAME}: {first}") from error
    for one in layers:
        one.is_by_place = True


def _attend(
    module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, **options: Any
) -> tuple[Tensor, None]:
    """Queries `[1, heads, tokens, size]`, keys and values `[1, groups, places, size]`; `[1, tokens, heads, size]`."""
    unknown = [name for name in ("softcap", "s_aux", "position_bias") if options.get(name) is not None]
    if unknown:
        raise LanguageModelError(f"{NAME} has no {unknown[0]}, which {type(module).__name__} needs")
    if query.shape[-1] != value.shape[-1]:
        raise LanguageModelError(f"{NAME} takes keys and values of one size: {type(module).__name__} has two")
    cache: AttentionCache = module.attention_cache
    scale = options.get("scaling")
    parts = (one.transpose(1, 2) for one in (query, key, value))
    if cache.window is None:
        return torch.ops.llama.custom_sdpa(*parts, cache.begin, None, 0.0, True, scale), None
    assert mask is not None
    return torch.ops.llama.custom_sdpa(*parts, 0, mask[0, 0], 0.0, False, scale), None


def register() -> None:
    """Have torch know the operator: by ExecuTorch's package, or in its absence by the same formula."""
    if _fragments or hasattr(torch.ops.llama, NAME):
        return
    try:
        with warnings.catch_warnings(action="ignore"):
            importlib.import_module("executorch.extension.llm.custom_ops.custom_ops")
    except ImportError:
        library: Any = torch.library.Library("llama", "FRAGMENT")
        library.define(f"{NAME}{_SCHEMA}) -> Tensor")
        library.define(f"{NAME}.out{_SCHEMA}, *, Tensor(a!) out) -> Tensor(a!)")
        library.impl(NAME, custom_sdpa, "CPU")
        library.impl(NAME, _sizes, "Meta")
        _fragments.append(library)


def custom_sdpa(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    start_pos: int,
    attn_mask: Tensor | None = None,
    drpout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    """Attention of queries `[1, tokens, heads, size]` to keys and values `[1, places, groups, size]`, by torch."""
    if is_causal:
        tokens, places = query.shape[1], key.shape[1]
        at = torch.arange(start_pos, start_pos + tokens)
        attn_mask = torch.where(torch.arange(places) <= at[:, None], 0.0, -torch.inf)
    return torch.nn.functional.scaled_dot_product_attention(
        *(one.transpose(1, 2) for one in (query, key, value)),
        attn_mask=attn_mask,
        scale=scale,
        enable_gqa=True,
    ).transpose(1, 2)


def _sizes(query: Tensor, *_: Any, **__: Any) -> Tensor:
    return torch.empty_like(query)
