"""Attention over a cache as ExecuTorch's operator `llama::custom_sdpa`.

```mlir
%keys = aten.index_copy %cache, %at, %k {dim = 2} : (tensor<1x2x48x8xf32>, tensor<1xi64>, tensor<1x2x1x8xf32>) -> …
%column = aten.unsqueeze %at {dim = 1} : (tensor<1xi64>) -> tensor<1x1xi64>
%mask = aten.le.Tensor %places, %column : (tensor<48xi64>, tensor<1x1xi64>) -> tensor<1x48xi1>
%0 = aten.scaled_dot_product_attention %q, %keys, %values, %mask {enable_gqa = true} : …    // before

%first = aten.select.int %at {dim = 0, index = 0} : (tensor<1xi64>) -> tensor<i64>          // after
%begin = aten.item %first : (tensor<i64>) -> i64
%q2 = aten.permute %q {dims = [0, 2, 1, 3]} : (tensor<1x4x1x8xf32>) -> tensor<1x1x4x8xf32>
%keys2 = aten.permute %keys {dims = [0, 2, 1, 3]} : (tensor<1x2x48x8xf32>) -> tensor<1x48x2x8xf32>
%values2 = …
%1 = aten.llama.custom_sdpa %q2, %keys2, %values2 {start_pos = %begin, is_causal = true} : …
%0 = aten.permute %1 {dims = [0, 2, 1, 3]} : (tensor<1x1x4x8xf32>) -> tensor<1x4x1x8xf32>
```

Keys and values are state after an `index_copy` or `index_put` of those of new tokens. Where each is repeated for the
heads of a group, the operator reads it as it was before. The kernel takes tokens first and then heads: `permute-state`
stores caches in that order.

Attention is causal, over the places up to that of each token and no others, where the mask is `place <= position`, the
positions are known to be consecutive, and keys are written to them. Positions are known to be consecutive where they
are `arange(n) + start`, or of a single token. With `consecutive` that is assumed of every vector that a method takes,
and the caller has to comply. Any other mask is passed to the kernel, which then reads every place; a row that it
excludes altogether is 0, as in torch.

Attention that is written out, as `matmul`, a scale, `add` of a mask, `softmax` and `matmul`, is taken where it is known
to be causal: a mask of floats is `where(place <= position, 0, lowest)`.

Floats of 32 and 16 bits are taken, without dropout, with keys and values of one size, and one mask for all heads.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import Final, NamedTuple

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_ir.analysis.consecutive_integers import FirstElement, first_of_consecutive, laid_along, original
from et_ir.dialects.aten import AtenOp
from et_ir.dialects.aten import ops as aten
from et_ir.dialects.program import LiteralOp, LoadOp
from et_ir.dialects.program.operator_declarations import declare_operators
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.custom import custom_class
from et_ir.dialects.schema.literals import literal_of
from et_ir.dialects.schema.tensors import sizes_of, tensor_type
from et_ir.passes.aten_to_core.decompose.attention import mask_of
from et_ir.passes.aten_to_core.decompose.chain import Chain, meta
from et_ir.passes.common.dce import erase_dead_ops
from et_ir.rewriting import op_type_rewrite_pattern, rewrite
from et_ops.dtypes import BF16, F16, F32, I64

__all__ = ["FormCachedAttentionPass"]

_ARGUMENTS: Final = (
    "Tensor query, Tensor key, Tensor value, SymInt start_pos, Tensor? attn_mask=None, float drpout_p=0., "
    "bool is_causal=False, float? scale=None"
)
_CUSTOM_SDPA: Final = custom_class(
    AtenOp,
    "aten",
    f"llama::custom_sdpa({_ARGUMENTS}) -> Tensor",
    f"llama::custom_sdpa.out({_ARGUMENTS}, *, Tensor(a!) out) -> Tensor(a!)",
    random=False,
)
_BY_TOKEN: Final = (0, 2, 1, 3)
"""From heads and tokens to tokens and heads, and back."""
_TYPES: Final = frozenset({F32, F16, BF16})
_LOWEST: Final = -3e38
_RESHAPES: Final = (aten.ReshapeOp, aten.ViewOp, aten.UnderscoreUnsafeViewOp)


class _Cached(NamedTuple):
    """Keys or values of a cache."""

    value: SSAValue
    """`[batch, groups, places, size]`."""
    at: SSAValue
    """The places of those of the new tokens, `[tokens]` i64."""


def _cached(value: SSAValue) -> _Cached | None:
    """The state of rank 4 that a value is after a write at places of dimension 2."""
    value = original(value)
    op = value.owner
    if meta(value).rank != 4:
        return None
    if isinstance(op, aten.IndexCopyOp) and op.dim in (2, -2):
        at = original(op.index)
    elif isinstance(op, aten.IndexPutOp) and not op.accumulate and len(op.indices) == 3:
        *others, index = op.indices
        if index is None or any(one is not None for one in others) or meta(index).dtype is not I64:
            return None
        at = original(index)
    else:
        return None
    return _Cached(value, at) if isinstance(op.self.owner, LoadOp) and meta(at).rank == 1 else None


def _ungrouped(value: SSAValue) -> SSAValue:
    """Keys or values before each was repeated for the consecutive heads of its group."""
    whole = meta(value).shape
    view = original(value).owner
    expand = original(view.operands[0]).owner if isinstance(view, _RESHAPES) else None
    if not isinstance(expand, aten.ExpandOp):
        return value
    unsqueeze = original(expand.self).owner
    if not isinstance(unsqueeze, aten.UnsqueezeOp):
        return value
    found = unsqueeze.self
    shape, wide = meta(found).shape, meta(expand.results[0]).shape
    if len(shape) != 4 or min(whole) < 0 or meta(unsqueeze.results[0]).shape != (*shape[:2], 1, *shape[2:]):
        return value
    is_repeated = wide == (*shape[:2], wide[2], *shape[2:])
    return found if is_repeated and whole == (shape[0], shape[1] * wide[2], *shape[2:]) else value


def _unexpanded(mask: SSAValue) -> SSAValue:
    """A mask without the dimensions of batch and heads, and before it was broadcast to sizes that it has already."""
    while isinstance(op := (mask := original(mask)).owner, SchemaOp):
        if isinstance(op, aten.ExpandOp):
            is_same = sizes_of(tensor_type(op.self)) == sizes_of(tensor_type(mask))
        else:
            is_same = isinstance(op, aten.UnsqueezeOp) and op.dim in (0, 1)
        if not is_same:
            return mask
        mask = op.operands[0]
    return mask


def _seen(mask: SSAValue) -> tuple[SSAValue, SSAValue] | None:
    """The places and the positions, both vectors, of a mask `place <= position` of `[…, tokens, places]`."""
    op = _unexpanded(mask).owner
    if isinstance(op, aten.LeTensorOp):
        places, positions = laid_along(op.self), laid_along(op.other)
    elif isinstance(op, aten.GeTensorOp):
        positions, places = laid_along(op.self), laid_along(op.other)
    else:
        return None
    if places is None or positions is None or (places.dim, positions.dim) != (-1, -2):
        return None
    lengths = tuple(sizes_of(tensor_type(one.vector))[0] for one in (positions, places))
    is_whole = lengths == sizes_of(tensor_type(mask))[-2:]  # none is one number that the comparison repeats
    return (
        (places.vector, positions.vector) if is_whole and first_of_consecutive(places.vector) == 0 else None
    )


class _Attention(NamedTuple):
    """Attention of `[batch, heads, …, size]`, in torch's terms."""

    query: SSAValue
    key: SSAValue
    value: SSAValue
    mask: SSAValue
    """The places that each token sees, or what is added to scores."""
    scale: float | None


def _fits(one: _Attention, keys: SSAValue, values: SSAValue) -> bool:
    """Whether the kernel takes what the attention is of."""
    q, k, v, m = (sizes_of(tensor_type(value)) for value in (one.query, keys, values, one.mask))
    dtypes = {meta(value).dtype for value in (one.query, keys, values)}
    if len(q) != 4 or len(m) < 2 or len(dtypes) > 1 or dtypes - _TYPES:
        return False
    if k != v or q[0] != k[0] or q[3] != k[3] or any(size != 1 for size in m[:-2]):
        return False
    heads, groups = q[1], k[1]
    if not isinstance(heads, int) or not isinstance(groups, int) or groups < 1 or heads % groups:
        return False
    return None not in (q[2], k[2]) and m[-2:] == (q[2], k[2])


class _Former:
    """Formation of attention. The vectors in `assumed` are assumed to hold consecutive positions."""

    def __init__(self, assumed: Set[SSAValue]):
        self.assumed = assumed

    def form(self, op: AtenOp, one: _Attention, rewriter: PatternRewriter, *, causal: bool = False) -> None:
        """Replace an op with attention, if that is over a cache; with `causal`, only if it is known to be."""
        keys, values = _cached(_ungrouped(one.key)), _cached(_ungrouped(one.value))
        if keys is None or values is None or not _fits(one, keys.value, values.value):
            return
        first = self._first_position(one.mask, keys)
        if first is None and causal:
            return
        b = Chain(op, rewriter, {})
        tensors = [b.permute(tensor, _BY_TOKEN) for tensor in (one.query, keys.value, values.value)]
        factor: SSAValue | None = None
        if first is None:
            added = mask_of(b, one.mask, F32)
            bias = b.view(added.bias, [-1, meta(keys.value).shape[2]])
            factor = None if _sees_itself(one.mask, keys) else added.factor
            rest = (0, bias, 0.0, False, one.scale)
        else:
            rest = (first if isinstance(first, int) else b.item(first.tensor), None, 0.0, True, one.scale)
        found = b(_CUSTOM_SDPA, *tensors, *rest, result_types=[tensors[0].type])
        found = b.permute(found, _BY_TOKEN)
        if factor is not None:
            found = b(aten.MulTensorOp, found, b.to(factor, meta(found).dtype))
        rewriter.replace(op, [], [b.fitted(found, op.results[0].type)])

    def _first_position(self, mask: SSAValue, keys: _Cached) -> FirstElement | int | None:
        """The position of the first token, if each token sees the places up to its own, which keys are written to."""
        seen = _seen(mask)
        if seen is None or sizes_of(tensor_type(keys.at))[0] != sizes_of(tensor_type(mask))[-2]:
            return None
        first = first_of_consecutive(seen[1], self.assumed)
        # A write is within the cache, and so are the places that the kernel reads.
        return first if first == first_of_consecutive(keys.at, self.assumed) else None


class FormCustomSdpa(RewritePattern):
    """Forms one attention of torch's operator."""

    def __init__(self, former: _Former):
        self.former = former

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: aten.ScaledDotProductAttentionOp, rewriter: PatternRewriter, /) -> None:
        if op.attn_mask is not None and not op.dropout_p and not op.is_causal:
            one = _Attention(op.query, op.key, op.value, op.attn_mask, op.scale)
            self.former.form(op, one, rewriter)


class FormWrittenOut(RewritePattern):
    """Forms one attention that is written out."""

    def __init__(self, former: _Former):
        self.former = former

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: aten.MatmulOp, rewriter: PatternRewriter, /) -> None:
        found = _written_out(op)
        if found is not None:
            self.former.form(op, found, rewriter, causal=True)


def _written_out(op: aten.MatmulOp) -> _Attention | None:
    """The attention whose last product an op is."""
    softmax = _kept(op.self).owner
    if not isinstance(softmax, aten.SoftmaxIntOp) or softmax.dim not in (-1, 3):
        return None
    dtype = meta(softmax.self).dtype
    added = original(softmax.self).owner
    if dtype is not F32 or meta(softmax.results[0]).dtype is not dtype:
        return None
    if not isinstance(added, aten.AddTensorOp) or added.alpha != 1:
        return None
    seen = _added(added.other)
    scores, scale = original(added.self), 1.0
    if isinstance(scaled := scores.owner, aten.MulTensorOp | aten.MulScalarOp):
        factor = scaled.other
        if isinstance(factor, SSAValue):
            factor = literal_of(factor.owner.value) if isinstance(factor.owner, LiteralOp) else None
        if not isinstance(factor, int | float):
            return None
        scores, scale = original(scaled.self), float(factor)
    product = scores.owner
    if seen is None or not isinstance(product, aten.MatmulOp):
        return None
    transposed = original(product.other).owner
    if not isinstance(transposed, aten.TransposeIntOp) or meta(product.other).rank != 4:
        return None
    if {transposed.dim0 % 4, transposed.dim1 % 4} != {2, 3}:
        return None
    return _Attention(product.self, transposed.self, op.other, seen, scale)


def _kept(value: SSAValue) -> SSAValue:
    """A value before a dropout that drops nothing."""
    op = original(value).owner
    if isinstance(op, aten.DropoutOp) and not (op.train and op.p):
        return original(op.input)
    return original(value)


def _added(bias: SSAValue) -> SSAValue | None:
    """The mask of a bias that is 0 where it is true, and else so low that nothing is left of any score in f32."""
    bias = _unexpanded(bias)
    op = bias.owner
    if isinstance(op, aten.WhereScalarOp):
        numbers = op.self, op.other
    elif isinstance(op, aten.WhereSelfOp):
        numbers = _filled(op.self), _filled(op.other)
    else:
        return None
    inside, outside = numbers
    is_bias = inside == 0 and isinstance(outside, int | float) and outside <= _LOWEST
    return op.condition if is_bias and meta(bias).dtype is F32 else None


def _filled(value: SSAValue) -> float | None:
    """The number that all elements of a tensor are."""
    op = original(value).owner
    number = op.fill_value if isinstance(op, aten.FullOp | aten.FullLikeOp) else None
    if isinstance(op, aten.ZerosOp):
        number = 0
    elif isinstance(op, aten.ScalarTensorOp):
        number = op.s
    return float(number) if isinstance(number, int | float) else None


def _sees_itself(mask: SSAValue, keys: _Cached) -> bool:
    """Whether a mask leaves each token at least the place that its own keys are written to."""
    seen = _seen(mask)
    return seen is not None and seen[1] is keys.at


@dataclass(frozen=True)
class FormCachedAttentionPass(ModulePass):
    """Form `llama::custom_sdpa` of attention on caches."""

    name = "form-cached-attention"

    consecutive: bool = False
    """Whether to assume that integers which methods take as vectors are consecutive positions."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        assumed: set[SSAValue] = set()
        if self.consecutive:
            assumed.update(arg for one in op.body.block.ops if isinstance(one, FuncOp) for arg in one.args)
        former = _Former(assumed)
        rewrite(op, [FormCustomSdpa(former), FormWrittenOut(former)])
        declare_operators(op)
        erase_dead_ops(op)  # keys and values that were repeated for each head: other reads of the caches
