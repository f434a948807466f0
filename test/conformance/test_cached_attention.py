"""Caches of language models and attention over them: ExecuTorch's operators in torch, and files of its compiler."""

from __future__ import annotations

import importlib
import math
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from kernel_oracle import register_of, run_kernel, tensor_of
from torch import nn

from et_schema.errors import ExecutorchError
from et_vm.runtime import Runtime

BATCH, TOKENS, HEADS, GROUPS, SIZE, PLACES = 2, 3, 4, 2, 8, 10
START = 4
TOLERANCES = {torch.float32: 2e-6, torch.float16: 4e-3, torch.bfloat16: 3e-2}
LIBRARIES = ["portable", "aten"]


@pytest.fixture(scope="module")
def library() -> Any:
    """The operators as the stock package registers them with torch."""
    with warnings.catch_warnings(action="ignore"):
        importlib.import_module("executorch.extension.llm.custom_ops.custom_ops")
    return torch.ops.llama


def random(*sizes: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(sizes, generator=torch.Generator().manual_seed(seed)).to(dtype)


def ours(name: str, *arguments: object, like: torch.Tensor, which: str = "portable") -> torch.Tensor:
    """The result of et-vm's kernel, with the type and sizes of `like`; caches among the arguments are changed."""
    out = register_of(torch.zeros_like(like))
    given = [register_of(one) if isinstance(one, torch.Tensor) else one for one in arguments]
    run_kernel(which, f"llama::{name}.out", tuple(given), [out])
    for register, tensor in zip(given, arguments, strict=True):
        if isinstance(tensor, torch.Tensor):
            tensor.copy_(tensor_of(register))
    return tensor_of(out)


def cached(dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Queries, and caches of keys and values."""
    caches = (random(BATCH, PLACES, GROUPS, SIZE, seed=seed, dtype=dtype) for seed in (1, 2))
    return random(BATCH, TOKENS, HEADS, SIZE, dtype=dtype), *caches


@pytest.mark.parametrize("which", LIBRARIES)
@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize(
    "options", [(None, 0.0, True), (None, 0.5, False), (None, 0.0, True, 0.3), ("mask", 0.0, False)], ids=str
)
def test_attention(library: Any, options: tuple[Any, ...], dtype: torch.dtype, which: str) -> None:
    query, keys, values = cached(dtype)
    mask = random(TOKENS, PLACES, seed=3) if options[0] else None
    mask = None if mask is None else mask.masked_fill(mask > 1, -math.inf)
    rest = (mask, *options[1:], *([None] if len(options) == 3 else []))
    wanted = library.custom_sdpa(query, keys, values, START, *rest)
    found = ours("custom_sdpa", query, keys, values, START, *rest, like=wanted, which=which)
    tolerance = TOLERANCES[dtype]
    torch.testing.assert_close(found, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("start", [0, START, PLACES - TOKENS])
@pytest.mark.parametrize("tokens", [1, TOKENS])
def test_attention_that_writes(library: Any, tokens: int, start: int) -> None:
    query, keys, values = (
        random(1, tokens, HEADS, SIZE),
        random(1, tokens, GROUPS, SIZE, seed=1),
        random(1, tokens, GROUPS, SIZE, seed=2),
    )
    caches = [random(1, PLACES, GROUPS, SIZE, seed=seed) for seed in (3, 4)]
    theirs = [one.clone() for one in caches]
    rest = (start, tokens, None, 0.0, True, None)
    wanted = library.sdpa_with_kv_cache(query, keys, values, *theirs, *rest)
    found = ours("sdpa_with_kv_cache", query, keys, values, *caches, *rest, like=wanted)
    torch.testing.assert_close(found, wanted, rtol=2e-6, atol=2e-6)
    assert all(map(torch.equal, caches, theirs))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int8], ids=str)
def test_updates(library: Any, dtype: torch.dtype) -> None:
    value = (random(BATCH, TOKENS, GROUPS, SIZE) * 20).to(dtype)
    cache = torch.zeros(BATCH, PLACES, GROUPS, SIZE, dtype=dtype)
    theirs = cache.clone()
    like = library.update_cache(value, theirs, START)
    ours("update_cache", value, cache, START, like=like)
    assert torch.equal(cache, theirs)
    indices = torch.tensor([[1, 3, 5], [9, 8, 0]])
    library.update_cache_with_indices(value, theirs, 0, indices)
    ours("update_cache_with_indices", value, cache, 0, indices, like=like)
    assert torch.equal(cache, theirs)


def quantized(tensor: torch.Tensor, seed: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Integers, zero points and scales."""
    scales = tensor.abs().amax(-1, keepdim=True) / 120
    zero_points = (random(*scales.shape, seed=seed) * 4).to(torch.int8)
    return (tensor / scales + zero_points).round().clamp(-128, 127).to(torch.int8), zero_points, scales


@pytest.mark.parametrize("is_seq_at_dim_2", [False, True])
@pytest.mark.parametrize("is_causal", [False, True])
def test_quantized_attention(library: Any, is_causal: bool, is_seq_at_dim_2: bool) -> None:
    parts = [quantized(one, seed) for seed, one in enumerate(cached(), 5)]
    if is_seq_at_dim_2:
        parts = [tuple(one.transpose(1, 2).contiguous() for one in part) for part in parts]
    numbers = [part[0] for part in parts]
    rest = (START, None, 0.0, is_causal, None, *(one for part in parts for one in part[1:]), is_seq_at_dim_2)
    wanted = library.custom_quantized_sdpa(*numbers, *rest)
    found = ours("custom_quantized_sdpa", *numbers, *rest, like=wanted)
    torch.testing.assert_close(found, wanted, rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("size", [1, 2, 8, 64])
def test_hadamard_transform(library: Any, size: int) -> None:
    rows = random(3, size)
    wanted = library.fast_hadamard_transform(rows)
    torch.testing.assert_close(
        ours("fast_hadamard_transform", rows, like=wanted), wanted, rtol=1e-6, atol=1e-6
    )


REFUSED = {
    "a batch of other size": ("custom_sdpa", {0: random(1, TOKENS, HEADS, SIZE)}, "batch and size of keys"),
    "heads that do not divide": ("custom_sdpa", {0: random(BATCH, TOKENS, 3, SIZE)}, "a multiple of 2 heads"),
    "a position before the first": ("custom_sdpa", {3: -1}, "a position"),
    "a position past the end": ("custom_sdpa", {3: 8}, "at most 7"),
    "a mask of other sizes": ("custom_sdpa", {4: random(TOKENS, 7), 6: False}, r"\[3, 10\]"),
    "a mask of four dimensions": ("custom_sdpa", {4: random(1, 1, TOKENS, PLACES), 6: False}, r"\[3, 10\]"),
    "a mask of bits": ("custom_sdpa", {4: torch.ones(TOKENS, PLACES, dtype=torch.bool), 6: False}, "float32"),
    "a mask and causal": ("custom_sdpa", {4: random(TOKENS, PLACES)}, "False with an attention mask"),
    "f64": ("custom_sdpa", {at: one.double() for at, one in enumerate(cached())}, "f32, f16 or bf16"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_attention(case: str) -> None:
    """What stock's operator leaves without a result, or ends the process for."""
    name, changed, message = REFUSED[case]
    arguments: list[Any] = [*cached(), START, None, 0.0, True, None]
    for at, value in changed.items():
        arguments[at] = value
    with pytest.raises(ExecutorchError, match=message):
        ours(name, *arguments, like=arguments[0])


@pytest.mark.parametrize(
    ("value", "start", "indices", "message"),
    [
        (random(BATCH, TOKENS, GROUPS, SIZE), 8, None, r"in \[0, 7\]"),
        (random(BATCH, TOKENS, GROUPS, SIZE), -1, None, r"in \[0, 7\]"),
        (random(BATCH, TOKENS, GROUPS, 4), 0, None, "but for dim 1"),
        (random(BATCH, TOKENS, GROUPS, SIZE).double(), 0, None, "float32"),
        (random(TOKENS, GROUPS, SIZE), 0, None, "4 dimensions"),
        (random(BATCH, TOKENS, GROUPS, SIZE), 0, [[1, 10, 5], [9, 8, 0]], r"indices in \[0, 10\)"),
        (random(BATCH, TOKENS, GROUPS, SIZE), 0, [[1, -1, 5], [9, 8, 0]], r"indices in \[0, 10\)"),
        (random(BATCH, TOKENS, GROUPS, SIZE), 0, [[1, 2], [9, 8]], r"\[2, 3\]"),
    ],
)  # fmt: skip
def test_refused_updates(
    value: torch.Tensor, start: int, indices: list[list[int]] | None, message: str
) -> None:
    cache = torch.zeros(BATCH, PLACES, GROUPS, SIZE)
    name = "update_cache" if indices is None else "update_cache_with_indices"
    rest = (start,) if indices is None else (start, torch.tensor(indices))
    with pytest.raises(ExecutorchError, match=message):
        ours(name, value, cache, *rest, like=torch.zeros(1))
    assert not cache.any()


@pytest.mark.parametrize("size", [0, 3, 28])
def test_refused_hadamard_transform(size: int) -> None:
    with pytest.raises(ExecutorchError, match="a power of two"):
        ours("fast_hadamard_transform", random(2, size), like=random(2, size))


# -- files of the stock compiler


class Attention(nn.Module):
    """A layer over caches as the stock exporter writes it."""

    def __init__(self, library: Any, is_one_call: bool) -> None:
        super().__init__()
        self.library, self.is_one_call = library, is_one_call
        width = HEADS * SIZE
        self.query, self.out = nn.Linear(width, width), nn.Linear(width, width)
        self.key, self.value = nn.Linear(width, GROUPS * SIZE), nn.Linear(width, GROUPS * SIZE)
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(1, PLACES, GROUPS, SIZE))

    def forward(self, x: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        tokens = x.shape[1]
        query, key, value = (made(x).view(1, tokens, -1, SIZE) for made in (self.query, self.key, self.value))
        start = position[0].item()
        torch._check(start >= 0)
        torch._check(start < PLACES)
        if self.is_one_call:
            found = self.library.sdpa_with_kv_cache(
                query, key, value, self.keys, self.values, start, tokens, None, 0.0, True
            )
        else:
            self.library.update_cache(key, self.keys, start)
            self.library.update_cache(value, self.values, start)
            found = self.library.custom_sdpa(query, self.keys, self.values, start, None, 0.0, True)
        return self.out(found.reshape(1, tokens, -1))


@pytest.mark.parametrize("is_one_call", [True, False])
def test_stock_files(library: Any, is_one_call: bool, tmp_path: Path) -> None:
    """A prompt and further tokens with a file of the stock compiler, memory overwritten as it dies."""
    from executorch.exir import to_edge

    torch.manual_seed(0)
    model = Attention(library, is_one_call).eval()
    tokens = torch.export.Dim("tokens", min=1, max=8)
    with warnings.catch_warnings(action="ignore"):
        program = torch.export.export(
            model,
            (random(1, 3, HEADS * SIZE), torch.tensor([0])),
            dynamic_shapes=({1: tokens}, None),
            strict=False,
        )
        path = tmp_path / "stock.pte"
        path.write_bytes(to_edge(program).to_executorch().buffer)
    method = Runtime().load_program(path, poison=True).load_method("forward")
    text = random(1, PLACES, HEADS * SIZE, seed=9)
    for first, last in ((0, 4), (4, 7), (7, 8), (8, 9), (9, 10)):
        x, position = text[:, first:last], torch.tensor([first])
        with torch.no_grad():
            wanted = model(x, position)
        (found,) = method.execute([x, position])
        torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5)
    with pytest.raises(ExecutorchError, match="start_pos"):
        method.execute([text[:, :2], torch.tensor([9])])
