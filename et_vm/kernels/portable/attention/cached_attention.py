"""Operators of ExecuTorch's library `llama`: caches of keys and values, and attention over them.

Queries are `[batch, tokens, heads, size]`, caches `[batch, places, groups, size]`, where heads of one group share keys
and values. The token at position `p` is at place `p`. Source of the semantics: the operators of that name which the
Python package of ExecuTorch registers with torch.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np

from et_schema.scalar_type import ScalarType
from et_vm.kernels.portable.arguments import check_type
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.portable.evaluate import evaluated, wide
from et_vm.kernels.portable.indexing.index import check_range
from et_vm.kernels.portable.steps import chain, copy
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array, Tensor

_FLOATS = (ScalarType.FLOAT, ScalarType.HALF, ScalarType.BFLOAT16)
_RANK = 4


# -- caches


def _check_cache(ctx: PrepareContext, value: Tensor, cache: Tensor, arg: str) -> None:
    ctx.check(not cache.constant, arg=arg, expected="a mutable tensor", got="a constant")
    check_type(ctx, cache.scalar_type, value, arg="value")
    for name, tensor in (("value", value), (arg, cache)):
        ctx.check(len(tensor.sizes) == _RANK, arg=name, expected="4 dimensions", got=list(tensor.sizes))
    fits = value.sizes[0] == cache.sizes[0] and value.sizes[2:] == cache.sizes[2:]
    ctx.check(
        fits, arg="value", expected=f"the sizes of {list(cache.sizes)} but for dim 1", got=list(value.sizes)
    )


def _written(ctx: PrepareContext, value: Tensor, cache: Tensor, start: int, arg: str) -> Step:
    """The step that writes `value` from place `start` on."""
    _check_cache(ctx, value, cache, arg)
    tokens, places = value.sizes[1], cache.sizes[1]
    ctx.check(
        0 <= start <= places - tokens, arg="start_pos", expected=f"in [0, {places - tokens}]", got=start
    )
    return copy(value.array, cache.array[:, start : start + tokens])


@kernel("llama::update_cache.out")
def update_cache_out(ctx: PrepareContext, value: Tensor, cache: Tensor, start_pos: int, out: Tensor) -> Step:
    """Write `value` into `cache` from place `start_pos` on. Nothing is written to `out`."""
    return _written(ctx, value, cache, start_pos, "cache")


@kernel("llama::update_cache_with_indices.out")
def update_cache_with_indices_out(
    ctx: PrepareContext, value: Tensor, cache: Tensor, start_pos: int, indices: Tensor, out: Tensor
) -> Step:
    """Write token `t` of `value` into `cache` at place `indices[b, t]` i64 of batch `b`. Nothing is written to `out`.

    The step traps on a place that the cache does not have.
    """
    _check_cache(ctx, value, cache, "cache")
    check_type(ctx, ScalarType.LONG, indices, arg="indices")
    ctx.check(
        indices.sizes == value.sizes[:2],
        arg="indices",
        expected=str(list(value.sizes[:2])),
        got=list(indices.sizes),
    )
    places = cache.sizes[1]

    def write(target: Array, indices: Array, values: Array) -> None:
        chosen = indices.copy()
        check_range(ctx, chosen, 0, places, "indices")
        target[np.arange(target.shape[0])[:, None], chosen] = values

    return write, (cache.array, indices.array, value.array)


# -- attention


def _attend(
    start: int | None, factor: float, query: Array, key: Array, value: Array, mask: Array | None, out: Array
) -> None:
    """`out` = softmax(`query` `key`ᵀ · `factor` + `mask`) `value`, `[batch, tokens, heads, size]`, in f32.

    With `start`, the position of the first token, each attends to the positions up to its own.
    """
    batch, tokens, heads, size = query.shape
    places, groups = key.shape[1:3]
    query, key, value = (one.astype(np.float32, copy=False) for one in (query, key, value))
    grouped = query.reshape(batch, tokens, groups, heads // groups, size).transpose(0, 2, 3, 1, 4)
    scores: Array = np.matmul(grouped, key.transpose(0, 2, 3, 1)[:, :, None])
    scores *= np.float32(factor)
    if mask is not None:
        scores += mask
    if start is not None and tokens > 1:
        scores[..., ~np.tri(tokens, places, start, dtype=np.bool_)] = -np.inf
    scores -= scores.max(-1, keepdims=True, initial=np.finfo(np.float32).min)
    np.exp(scores, out=scores)
    scores /= scores.sum(-1, keepdims=True)
    found = np.matmul(scores, value.transpose(0, 2, 1, 3)[:, :, None])
    np.copyto(out, found.transpose(0, 3, 1, 2, 4).reshape(out.shape), "unsafe")


def _check_attention(
    ctx: PrepareContext,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    start: int,
    mask: Tensor | None,
    is_causal: bool,
    places: int,
    tokens: int,
) -> int:
    """The number of places that queries attend to at most."""
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        ctx.check(len(tensor.sizes) == _RANK, arg=name, expected="4 dimensions", got=list(tensor.sizes))
        check_type(ctx, query.scalar_type, tensor, arg=name)
    ctx.check(key.sizes == value.sizes, arg="value", expected=str(list(key.sizes)), got=list(value.sizes))
    fits = query.sizes[0] == key.sizes[0] and query.sizes[3] == key.sizes[3]
    ctx.check(fits, arg="query", expected=f"batch and size of keys {list(key.sizes)}", got=list(query.sizes))
    ctx.check(start >= 0, arg="start_pos", expected="a position", got=start)
    if mask is None:
        ctx.check(start + tokens <= places, arg="start_pos", expected=f"at most {places - tokens}", got=start)
        return start + tokens
    ctx.check(not is_causal, arg="is_causal", expected="False with an attention mask", got=True)
    check_type(ctx, ScalarType.FLOAT, mask, arg="attn_mask")
    ctx.check(
        mask.sizes == (tokens, places), arg="attn_mask", expected=str([tokens, places]), got=list(mask.sizes)
    )
    return places


def _check_heads(ctx: PrepareContext, heads: int, groups: int, size: int) -> None:
    ctx.check(size > 0, arg="query", expected="heads of some size", got=size)
    ctx.check(
        groups > 0 and heads % groups == 0, arg="query", expected=f"a multiple of {groups} heads", got=heads
    )


def _attention(
    ctx: PrepareContext,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    start: int,
    mask: Tensor | None,
    is_causal: bool,
    scale: float | None,
    out: Tensor,
) -> Step:
    ctx.check(
        query.scalar_type in _FLOATS,
        arg="query",
        expected="f32, f16 or bf16",
        got=query.scalar_type.torch_name,
    )
    batch, tokens, heads, size = query.sizes if len(query.sizes) == _RANK else (0, 0, 0, 0)
    places = key.sizes[1] if len(key.sizes) == _RANK else 0
    count = _check_attention(ctx, query, key, value, start, mask, is_causal, places, tokens)
    _check_heads(ctx, heads, key.sizes[2], size)
    check_type(ctx, query.scalar_type, out, arg="out")
    out.resize(query.sizes)
    ctx.work(2 * batch * tokens * heads * size * count)
    factor = 1 / math.sqrt(size) if scale is None else scale
    run = functools.partial(_attend, start if is_causal else None, factor)
    masked = None if mask is None else mask.array
    return run, (query.array, key.array[:, :count], value.array[:, :count], masked, out.array)


@kernel("llama::custom_sdpa.out")
def custom_sdpa_out(
    ctx: PrepareContext,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    start_pos: int,
    attn_mask: Tensor | None,
    drpout_p: float,
    is_causal: bool,
    scale: float | None,
    out: Tensor,
) -> Step:
    """Attention of tokens from position `start_pos` on over caches of keys and values that hold theirs, too.

    Without `attn_mask` `[tokens, places]` f32, which is added to scores, only places up to the last token count, and of
    these, if `is_causal`, those up to each token. Dropout is that of training and is not applied. Allocates the scores.
    """
    return _attention(ctx, query, key, value, start_pos, attn_mask, is_causal, scale, out)


@kernel("llama::sdpa_with_kv_cache.out")
def sdpa_with_kv_cache_out(
    ctx: PrepareContext,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    key_cache: Tensor,
    value_cache: Tensor,
    start_pos: int,
    seq_len: int,
    attn_mask: Tensor | None,
    drpout_p: float,
    is_causal: bool,
    scale: float | None,
    out: Tensor,
) -> Step:
    """`key` and `value` written into the caches from place `start_pos` on, and the attention over these."""
    steps = [
        _written(ctx, key, key_cache, start_pos, "key_cache"),
        _written(ctx, value, value_cache, start_pos, "value_cache"),
    ]
    attention = _attention(ctx, query, key_cache, value_cache, start_pos, attn_mask, is_causal, scale, out)
    return chain([*steps, attention])


@kernel("llama::custom_quantized_sdpa.out")
def custom_quantized_sdpa_out(
    ctx: PrepareContext,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    start_pos: int,
    attn_mask: Tensor | None,
    drpout_p: float,
    is_causal: bool,
    scale: float | None,
    q_zero_points: Tensor | None,
    q_scales: Tensor | None,
    k_zero_points: Tensor | None,
    k_scales: Tensor | None,
    v_zero_points: Tensor | None,
    v_scales: Tensor | None,
    is_seq_at_dim_2: bool,
    out: Tensor,
) -> Step:
    """`custom_sdpa` of queries, keys and values in 8 bits, each with a scale f32 and a zero point i8 for every token of
    every head, `[batch, tokens, heads, 1]`. With `is_seq_at_dim_2` all are `[batch, heads, tokens, …]`.

    Allocates the restored floats of the places that count, and the scores.
    """
    parts = (
        ("q", query, q_scales, q_zero_points),
        ("k", key, k_scales, k_zero_points),
        ("v", value, v_scales, v_zero_points),
    )
    tensors: list[Tensor] = []
    for name, numbers, scales, zero_points in parts:
        check_type(ctx, ScalarType.CHAR, numbers, arg=name)
        tensors.append(numbers)
        for label, given, kind in (
            ("scales", scales, ScalarType.FLOAT),
            ("zero_points", zero_points, ScalarType.CHAR),
        ):
            arg = f"{name}_{label}"
            if given is None:
                raise ctx.trap(arg=arg, expected="a Tensor", got=None)
            check_type(ctx, kind, given, arg=arg)
            wanted = (*numbers.sizes[:-1], 1)
            ctx.check(given.sizes == wanted, arg=arg, expected=str(list(wanted)), got=list(given.sizes))
            tensors.append(given)
    axis = 2 if is_seq_at_dim_2 else 1
    places, tokens = (one.sizes[axis] if len(one.sizes) == _RANK else 0 for one in (key, query))
    count = _check_attention(ctx, query, key, value, start_pos, attn_mask, is_causal, places, tokens)
    _check_heads(ctx, query.sizes[3 - axis], key.sizes[3 - axis], query.sizes[3])
    check_type(ctx, ScalarType.FLOAT, out, arg="out")
    out.resize(query.sizes)
    ctx.work(2 * math.prod(query.sizes) * count)
    factor = 1 / math.sqrt(query.sizes[3]) if scale is None else scale
    start = start_pos if is_causal else None

    def arranged(tensor: Tensor) -> Array:
        return tensor.array.swapaxes(1, 2) if is_seq_at_dim_2 else tensor.array

    def run(arrays: Sequence[Array], mask: Array | None, out: Array) -> None:
        query, key, value = (
            (arrays[at].astype(np.float32) - arrays[at + 2]) * arrays[at + 1] for at in (0, 3, 6)
        )
        _attend(start, factor, query, key, value, mask, out)

    arrays = [arranged(one)[:, : tokens if at < 3 else count] for at, one in enumerate(tensors)]
    return run, (arrays, None if attn_mask is None else attn_mask.array, arranged(out))


# -- rotations


@kernel("llama::fast_hadamard_transform.out")
def fast_hadamard_transform_out(ctx: PrepareContext, mat: Tensor, out: Tensor) -> Step:
    """The last dimension, a power of two, times the orthonormal Hadamard matrix of Sylvester's construction.

    Algorithm: Fino and Algazi, "Unified Matrix Treatment of the Fast Walsh-Hadamard Transform", 1976. Allocates two
    arrays of the tensor's size. Sizes that are 28 times a power of two, which ExecuTorch has as well, are refused.
    """
    size = mat.sizes[-1] if mat.sizes else 0
    ctx.check(
        size > 0 and not size & (size - 1), arg="mat", expected="a power of two for the last size", got=size
    )
    check_type(ctx, mat.scalar_type, out, arg="out")
    out.resize(mat.sizes)
    ctx.work(math.prod(mat.sizes) * size.bit_length())
    return evaluated(_hadamard, (mat,), (out,), wide(mat))


def _hadamard(rows: Array) -> Array:
    shape = rows.shape
    width = 1
    while width < shape[-1]:
        pairs = rows.reshape(*shape[:-1], -1, 2, width)
        first, second = pairs[..., 0, :], pairs[..., 1, :]
        rows = np.stack((first + second, first - second), -2).reshape(shape)
        width *= 2
    return rows * rows.dtype.type(1 / math.sqrt(shape[-1]))
