"""Attention as one kernel, against torch, on every instruction set of this machine."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan

import pytest
import torch
from native_modules import SETS, as_module, check, compiled, lowered, run, sets
from support.accuracy import assert_accurate, truth_of
from torch import nn
from torch.nn import functional as F
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from et_backends.codegen.dialect import KernelOp
from et_backends.codegen.passes.fuse_attention import FuseAttentionPass
from et_backends.native.format import read_native
from et_ir import to_edge
from et_ir.passes.to_executorch.share_matrices import ShareMatricesPass
from et_schema.pte import read_pte

_Function = Callable[..., torch.Tensor]


def kernels(function: _Function, *arguments: torch.Tensor) -> list[str]:
    """The names of the ops that are left when attention is fused."""
    module: ModuleOp = to_edge(torch.export.export(as_module(function), arguments)).module
    FuseAttentionPass().apply(Context(), module)
    return [
        op.name
        for op in module.walk()
        if op.name == "native.kernel" or op.name in ("edge.bmm", "edge.mm", "edge._softmax")
    ]


def fused(function: _Function, *arguments: torch.Tensor) -> None:
    """One kernel, and what torch computes. An error of a score, of rms size 1, is one of its exponential, too."""
    names = kernels(function, *arguments)
    assert names[0] == "native.kernel"
    assert len(names) == 4
    check(function, *arguments, growth=2.0)


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return F.scaled_dot_product_attention(q, k, v)


SHAPES = [
    pytest.param((1, 2, 7, 5), (1, 2, 9, 5), (1, 2, 9, 3), id="odd"),
    pytest.param((2, 3, 33, 32), (2, 3, 33, 32), (2, 3, 33, 32), id="tails-of-rows"),
    pytest.param((1, 1, 1, 8), (1, 1, 5, 8), (1, 1, 5, 8), id="one-query"),
    pytest.param((1, 1, 3, 1), (1, 1, 1, 1), (1, 1, 1, 1), id="ones"),
    pytest.param((1, 1, 20, 16), (1, 1, 300, 16), (1, 1, 300, 16), id="blocks-of-keys"),
    pytest.param((1, 2, 15, 64), (1, 2, 513, 64), (1, 2, 513, 70), id="one-key-left"),
    pytest.param((1, 2, 1, 70), (1, 2, 600, 70), (1, 2, 600, 90), id="one-query-of-many-keys"),
    pytest.param((2, 1, 6, 33), (2, 1, 40, 33), (2, 1, 40, 65), id="few-queries"),
    pytest.param((3, 7, 5), (3, 9, 5), (3, 9, 3), id="without-heads"),
]


@pytest.mark.parametrize("shapes", [pytest.param(one.values, id=one.id) for one in SHAPES])
def test_shapes(shapes: tuple[tuple[int, ...], ...]) -> None:
    torch.manual_seed(0)
    fused(attention, *(torch.randn(shape) * 3 for shape in shapes))


@pytest.mark.parametrize("tokens", [5, 40, 300])
def test_causal(tokens: int) -> None:
    torch.manual_seed(0)
    mask = torch.full((tokens, tokens), -inf).triu(1)
    q, k, v = torch.randn(3, 2, 2, tokens, 8).unbind()
    fused(lambda q, k, v: torch.softmax(q @ k.transpose(-1, -2) / 3 + mask, -1) @ v, q, k, v)


MASKS = [(40, 50), (1, 1, 40, 50), (2, 1, 1, 50), (2, 3, 40, 50), (1, 1, 40, 1), (50,), ()]


@pytest.mark.parametrize("shape", MASKS)
def test_added_mask(shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    q, k, v = torch.randn(2, 3, 40, 8), torch.randn(2, 3, 50, 8), torch.randn(2, 3, 50, 8)
    mask = torch.where(torch.rand(shape) < 0.3, -inf, torch.randn(shape))
    if shape and shape[-1] == 50:
        mask[..., 7] = 0
    fused(lambda q, k, v, m: torch.softmax(q @ k.mT + m, -1) @ v, q, k, v, mask)


def test_compared_mask() -> None:
    """Masks are compared in the kernel, and scores are what else is done to them."""
    torch.manual_seed(0)
    q, k, v = torch.randn(2, 3, 40, 8), torch.randn(2, 3, 50, 8), torch.randn(2, 3, 50, 8)
    fused(
        lambda q, k, v, m: torch.softmax(torch.where(m > 0, torch.tanh(q @ k.mT / 8) * 8, -1e9), -1) @ v,
        q,
        k,
        v,
        torch.randn(2, 3, 40, 50),
    )


@pytest.mark.parametrize("shape", [(40, 50), (2, 1, 1, 50), (1, 1, 40, 1), ()])
def test_filled_scores(shape: tuple[int, ...]) -> None:
    """Masks of bools, as `masked_fill` and encoders with padding have them."""
    torch.manual_seed(0)
    q, k, v = torch.randn(2, 3, 40, 8), torch.randn(2, 3, 50, 8), torch.randn(2, 3, 50, 8)
    mask = torch.rand(shape) < 0.3
    if shape and shape[-1] == 50:
        mask[..., 7] = False
    fused(lambda q, k, v, m: torch.softmax((q @ k.mT / 3).masked_fill(m, -inf), -1) @ v, q, k, v, mask)


def test_masks_of_integers() -> None:
    torch.manual_seed(0)
    q, k, v = torch.randn(2, 3, 40, 8), torch.randn(2, 3, 50, 8), torch.randn(2, 3, 50, 8)
    fused(
        lambda q, k, v, m: torch.softmax(torch.where(m == 0, -1e9, q @ k.mT), -1) @ v,
        q,
        k,
        v,
        torch.randint(2, (40, 50)),
    )


@pytest.mark.parametrize("keys", [20, 600])
def test_rows_without_keys(keys: int) -> None:
    """NaN where all is masked, as softmax of -inf gives; infinite and undefined scores as op by op."""
    torch.manual_seed(0)
    q, k, v = torch.randn(1, 2, 16, 8), torch.randn(1, 2, keys, 8), torch.randn(1, 2, keys, 8)
    mask = torch.zeros(16, keys)
    mask[3] = -inf
    mask[5, :-1] = -inf
    mask[7, 0], mask[8, -1], mask[9, 2] = inf, nan, 1e38
    fused(lambda q, k, v, m: torch.softmax(q @ k.mT + m, -1) @ v, q, k, v, mask)


def test_large_scores() -> None:
    """Maxima grow from block to block."""
    torch.manual_seed(0)
    q, k, v = torch.randn(1, 1, 9, 8), torch.randn(1, 1, 700, 8), torch.randn(1, 1, 700, 8)
    k = k * torch.linspace(1, 60, 700)[:, None]
    fused(attention, q, k, v)


def test_grouped_queries() -> None:
    torch.manual_seed(0)
    q, k, v = torch.randn(2, 8, 19, 16), torch.randn(2, 2, 21, 16), torch.randn(2, 2, 21, 16)
    fused(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True), q, k, v)


@pytest.mark.parametrize("keys", [1, 17, 1030, 2077])
def test_one_query(keys: int) -> None:
    """Scores of several keys are added up together, those that are left one by one; blocks are of 1,024 keys."""
    torch.manual_seed(0)
    q, k, v = torch.randn(1, 2, 1, 40), torch.randn(1, 2, keys, 40), torch.randn(1, 2, keys, 40)
    fused(F.scaled_dot_product_attention, q, k, v)


@pytest.mark.parametrize("keys", [30, 300])
def test_few_grouped_queries(keys: int) -> None:
    """One query of each head of a group, with a mask for each query."""
    torch.manual_seed(0)
    q, k, v = torch.randn(2, 6, 1, 16), torch.randn(2, 2, keys, 16), torch.randn(2, 2, keys, 16)
    fused(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True), q, k, v)
    mask = torch.where(torch.rand(2, 1, 3, keys) < 0.3, -inf, torch.randn(2, 1, 3, keys))
    q, k, v = torch.randn(2, 2, 3, 16), torch.randn(2, 2, keys, 16), torch.randn(2, 2, keys, 16)
    fused(lambda q, k, v, m: torch.softmax(q @ k.mT + m, -1) @ v, q, k, v, mask)


@pytest.mark.parametrize("keys", [30, 128, 330])
def test_keys_that_a_mask_leaves(keys: int) -> None:
    """As in a cache that is filled in part: what is behind is not read, unless there is nothing else."""
    torch.manual_seed(0)
    module = as_module(lambda q, k, v, m: torch.softmax(q @ k.mT + m, -1) @ v)
    q, k, v = torch.randn(1, 2, 3, 16), torch.randn(1, 2, keys, 16), torch.randn(1, 2, keys, 16)
    masks = [torch.full((1, 1, 1, keys), lowest) for lowest in (-inf, -3e38)]
    for end in (1, 29, keys // 2 + 3, keys - 1, keys):
        masks.append(torch.randn(1, 1, 1, keys))
        masks[-1][..., end:] = -inf
    masks.append(masks[-1].clone())
    masks[-1][..., : keys // 2] = -inf  # of a window
    masks.append(masks[-1].clone())
    masks[-1][..., -1] = nan
    program = torch.export.export(module, (q, k, v, masks[0]))
    for instruction_set in sets():
        file = lowered(program, instruction_set)
        for mask in masks:
            assert_accurate(run(file, (q, k, v, mask)), truth_of(module, q, k, v, mask))
        # Nothing behind the vectors that have a key is read.
        behind = -(-29 // 64) * 64
        k_behind, v_behind = k.clone(), v.clone()
        k_behind[:, :, behind:], v_behind[:, :, behind:] = nan, nan
        found = run(file, (q, k_behind, v_behind, masks[3]))
        assert_accurate(found, truth_of(module, q, k, v, masks[3]))


@pytest.mark.parametrize(("groups", "keys"), [(4, 40), (2, 40), (2, 330)])
def test_number_of_queries(groups: int, keys: int) -> None:
    """Queries of a prompt, of which there are fewer than a tile has, and some more; keys behind it are not read."""
    torch.manual_seed(0)

    def function(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
        # As transformers has it.
        k, v = (
            one[:, :, None].expand(1, groups, 4 // groups, keys, 16).reshape(1, 4, keys, 16) for one in (k, v)
        )
        return F.scaled_dot_product_attention(q, k, v, m)

    module = as_module(function)
    k, v = torch.randn(1, groups, keys, 16), torch.randn(1, groups, keys, 16)
    length = torch.export.Dim("length", min=1, max=33)

    def arguments(queries: int, first: int) -> tuple[torch.Tensor, ...]:
        seen = torch.arange(keys) <= torch.arange(first, first + queries)[:, None]
        # As projections have them.
        return torch.randn(1, queries, 4, 16).transpose(1, 2), k, v, seen[None, None]

    sizes = (({2: length}, None, None, {2: length}),)
    program = torch.export.export(module, arguments(7, 0), dynamic_shapes=sizes)
    edge: ModuleOp = to_edge(program).module
    ShareMatricesPass().apply(Context(), edge)
    FuseAttentionPass().apply(Context(), edge)
    (softmax,) = (op for op in edge.walk() if op.name == "edge._softmax")
    assert isinstance(softmax.parent_op(), KernelOp)
    for instruction_set in sets():
        file = lowered(program, instruction_set)
        for queries, first in ((1, 0), (2, 7), (13, 0), (14, 0), (15, 4), (29, 5), (33, 0), (33, keys - 33)):
            inputs = arguments(queries, first)
            truth = truth_of(module, *inputs)
            for threads in (1, 2):
                assert_accurate(run(file, inputs, threads), truth)
        # Nothing behind the vectors that have a key is read.
        inputs = arguments(5, 3)
        q, k_behind, v_behind, seen = inputs[0], k.clone(), v.clone(), inputs[3]
        k_behind[:, :, 64:], v_behind[:, :, 64:] = nan, nan
        found = run(file, (q, k_behind, v_behind, seen))
        assert_accurate(found, truth_of(module, *inputs))


@pytest.mark.parametrize("queries", [1, 64])
def test_bounds_of_masked_scores(queries: int) -> None:
    """A key keeps some weight where scores are bounded after a mask is added, whether it is constant or not."""
    torch.manual_seed(0)
    q, k, v = torch.randn(1, 2, queries, 8), torch.randn(1, 2, 300, 8), torch.randn(1, 2, 300, 8)
    mask = torch.full((queries, 300), -inf).triu(20)
    fused(lambda q, k, v, m: torch.softmax(torch.tanh((q @ k.mT + m) / 5) * 5, -1) @ v, q, k, v, mask)
    fused(lambda q, k, v: torch.softmax(torch.tanh((q @ k.mT + mask) / 5) * 5, -1) @ v, q, k, v)


class Block(nn.Module):
    """Projections whose results are read, and written, without transpositions."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(48, 48) for _ in range(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, tokens, width = x.shape
        q, k, v = (f(x).view(batch, tokens, 3, 16).transpose(1, 2) for f in (self.q, self.k, self.v))
        made = F.scaled_dot_product_attention(q, k, v)
        return self.o(made.transpose(1, 2).reshape(batch, tokens, width))


@pytest.mark.parametrize("batch", [1, 2])
def test_projections(batch: int) -> None:
    torch.manual_seed(0)
    check(Block().eval(), torch.randn(batch, 13, 48))


def test_scores_that_are_read() -> None:
    """Weights that are a result too are no intermediate values of a kernel."""

    def function(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        weights = torch.softmax(q @ k.mT, -1)
        return (weights @ v) + weights.amax()

    arguments = torch.randn(2, 5, 8), torch.randn(2, 7, 8), torch.randn(2, 7, 8)
    assert "native.kernel" not in kernels(function, *arguments)
    check(function, *arguments)


def _rows_of_bytes(*shape: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Bytes, and a scale for each row."""
    made = torch.randint(-127, 128, shape, dtype=torch.int8)
    return made, torch.rand(*shape[:-1], 1) * 0.02 + 0.001


def _over_bytes(
    q: torch.Tensor,
    k: torch.Tensor,
    of_k: torch.Tensor,
    v: torch.Tensor,
    of_v: torch.Tensor,
    mask: torch.Tensor,
) -> torch.Tensor:
    keys, values = k.to(torch.float32) * of_k, of_v * v.to(torch.float32)
    group = q.shape[1] // k.shape[1]
    if group > 1:
        keys, values = (one.repeat_interleave(group, 1) for one in (keys, values))
    return torch.softmax(q @ keys.mT / 4 + mask, -1) @ values


BYTES = [
    pytest.param((1, 12, 1, 64), (1, 12, 300, 64), id="one-query"),
    pytest.param((1, 2, 1, 24), (1, 2, 2077, 24), id="several-blocks"),
    pytest.param((1, 8, 1, 32), (1, 2, 70, 32), id="groups"),
    pytest.param((2, 3, 2, 20), (2, 3, 9, 20), id="odd"),
    pytest.param((1, 1, 5, 70), (1, 1, 300, 70), id="one-head"),
]


@pytest.mark.parametrize(("queries", "keys"), BYTES)
def test_keys_and_values_in_bytes(queries: tuple[int, ...], keys: tuple[int, ...]) -> None:
    """Few queries read them as they are: nothing dequantizes them before."""
    torch.manual_seed(0)
    mask = torch.zeros(1, 1, 1, keys[2])
    mask[..., keys[2] * 3 // 4 :] = -inf
    arguments = (torch.randn(queries), *_rows_of_bytes(*keys), *_rows_of_bytes(*keys), mask)
    check(_over_bytes, *arguments)
    file = compiled(as_module(_over_bytes), arguments, SETS[0])
    pte = read_pte(memoryview(file))
    (delegate,) = pte.program.execution_plan[0].delegates
    assert delegate.processed is not None
    names = [one.name for one in read_native(pte.delegate_data(delegate.processed)).objects[0].kernels]
    # The queries may be scaled before, and the result be copied to the output.
    assert "attention_0" in names
    assert set(names) - {"attention_0", "copy_0"} <= {"pointwise_0"}


@pytest.mark.parametrize("sizes", [(16, 1), (1, 16)])
@pytest.mark.parametrize("queries", [1, 3, 20])
def test_bytes_of_one_column(queries: int, sizes: tuple[int, int]) -> None:
    """Each has a scale of its own, wherever it is in a vector."""
    torch.manual_seed(0)
    depth, width = sizes
    k, of_k = _rows_of_bytes(1, 1, 40, depth)
    v, of_v = _rows_of_bytes(1, 1, 40, width)
    check(_over_bytes, torch.randn(1, 2, queries, depth), k, of_k, v, of_v, torch.zeros(()))


@pytest.mark.parametrize(
    ("queries", "keys"),
    [
        pytest.param((1, 2, 20, 16), (1, 2, 40, 16), id="one-block"),
        pytest.param((1, 6, 37, 24), (1, 2, 601, 24), id="groups"),
        pytest.param((1, 2, 20, 80), (1, 2, 277, 80), id="odd"),
        pytest.param((2, 3, 9, 20), (2, 3, 9, 20), id="batch"),
    ],
)
def test_bytes_that_many_queries_read(queries: tuple[int, ...], keys: tuple[int, ...]) -> None:
    """They are dequantized where they are packed: there are no floats for all keys."""
    torch.manual_seed(0)
    mask = torch.zeros(1, 1, 1, keys[2])
    mask[..., keys[2] * 3 // 4 :] = -inf
    arguments = (torch.randn(queries), *_rows_of_bytes(*keys), *_rows_of_bytes(*keys), mask)
    check(_over_bytes, *arguments)


def _program(
    keys: int, groups: int, heads: int, mask: _Function
) -> tuple[nn.Module, torch.export.ExportedProgram]:
    """Attention of up to 70 queries over a cache, with a mask of their positions, as a program."""

    def function(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        k, v = (
            one[:, :, None].expand(1, groups, heads // groups, keys, 16).reshape(1, heads, keys, 16)
            for one in (k, v)
        )
        return mask(q, k, v, at[:, None])

    module = as_module(function)
    length = torch.export.Dim("length", min=0, max=70)
    example = torch.randn(1, heads, 7, 16), *torch.randn(2, 1, groups, keys, 16), torch.arange(7)
    sizes = (({2: length}, None, None, {0: length}),)
    return module, torch.export.export(module, example, dynamic_shapes=sizes)


def _added(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, seen: torch.Tensor, lowest: float
) -> torch.Tensor:
    return torch.softmax(q @ k.mT / 4 + torch.where(seen, 0.0, lowest), -1) @ v


def _causal(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
    return F.scaled_dot_product_attention(q, k, v, (torch.arange(k.shape[2]) <= at)[None, None])


def _causal_or_all(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
    return _added(q, k, v, at >= torch.arange(k.shape[2]), -3e38)


def _before(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
    return _added(q, k, v, torch.arange(k.shape[2]) < at, -3e38)


def _window(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
    """Every fifth position has an empty window: it weighs all keys alike."""
    held = torch.arange(k.shape[2])
    return _added(q, k, v, (held <= at) & (held > at - (at % 5) * 9), -3e38)


def _ring(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
    last = at[-1]
    held = last - (last - torch.arange(k.shape[2])) % k.shape[2]
    return _added(q, k, v, (held <= at) & (held >= 0) & (held > at - 50), -inf)


def _soft_cap(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
    seen = torch.arange(k.shape[2]) <= at
    return torch.softmax(torch.tanh(q @ k.mT / 4) * 3 + torch.where(seen, 0.0, -inf), -1) @ v


def _distance(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
    """As ALiBi."""
    held = torch.arange(k.shape[2])
    slope = (held - at) * torch.tensor([0.5, 0.25, 0.125, 0.0625])[:, None, None]
    return torch.softmax(q @ k.mT / 4 + slope + torch.where(held <= at, 0.0, -inf), -1) @ v


@pytest.mark.parametrize(
    ("mask", "groups", "keys"),
    [
        (_causal, 2, 90),
        (_causal, 1, 701),
        (_causal_or_all, 1, 701),
        (_before, 2, 90),
        (_window, 1, 701),
        (_ring, 2, 90),
        (_soft_cap, 4, 701),
        (_distance, 1, 301),
    ],
)
def test_computed_masks(mask: _Function, groups: int, keys: int) -> None:
    """Masks that are computed of positions, in tiles of any size; also of positions without a key before them."""
    torch.manual_seed(0)
    module, program = _program(keys, groups, 4, mask)
    k, v = torch.randn(2, 1, groups, keys, 16)
    starts = [(1, 0), (1, 64), (6, 3), (14, 50), (43, 0), (70, keys - 70)]
    if mask in (_causal_or_all, _before, _window):
        starts.append((9, -4))
    for instruction_set in sets():
        file = lowered(program, instruction_set)
        for queries, first in starts:
            inputs = (
                torch.randn(1, queries, 4, 16).transpose(1, 2),
                k,
                v,
                torch.arange(first, first + queries),
            )
            truth = truth_of(module, *inputs)
            for threads in (1, 3):
                assert_accurate(run(file, inputs, threads), truth)


@pytest.mark.parametrize(("groups", "heads"), [(1, 1), (2, 4)])
def test_no_queries(groups: int, heads: int) -> None:
    """A number of queries that is known at run time only may be 0."""
    _, program = _program(90, groups, heads, _causal)
    k, v = torch.zeros(2, 1, groups, 90, 16)
    for instruction_set in sets():
        file = lowered(program, instruction_set)
        for threads in (1, 3):
            none = torch.zeros(1, heads, 0, 16), k, v, torch.arange(0)
            assert run(file, none, threads).shape == (1, heads, 0, 16)


@pytest.mark.parametrize("mask", [_causal, _window, _soft_cap])
def test_memory_beside_a_cache(mask: _Function) -> None:
    """It does not depend on the number of keys."""
    sizes = set[int]()
    for keys in (600, 4000):
        pte = read_pte(memoryview(lowered(_program(keys, 2, 4, mask)[1], SETS[0])))
        (delegate,) = pte.program.execution_plan[0].delegates
        assert delegate.processed is not None
        sizes.add(read_native(pte.delegate_data(delegate.processed)).arena_size)
    assert len(sizes) == 1


def test_keys_behind_a_bound() -> None:
    """They are not read, as in a cache that is filled in part."""
    torch.manual_seed(0)
    module, program = _program(700, 2, 4, _causal)
    k, v = torch.randn(2, 1, 2, 700, 16)
    k[:, :, 64:], v[:, :, 64:] = nan, nan
    clean = k.nan_to_num(), v.nan_to_num()
    for instruction_set in sets():
        file = lowered(program, instruction_set)
        for queries, first in ((1, 63), (40, 20)):
            q, at = torch.randn(1, 4, queries, 16), torch.arange(first, first + queries)
            assert_accurate(run(file, (q, k, v, at)), truth_of(module, q, *clean, at))
