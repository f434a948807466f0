"""Matrix products and what is built on them."""

from __future__ import annotations

from collections.abc import Sequence

from et_ops.dtypes import F32, I8, I32, I64, U8, DType, as_float
from et_ops.inference.meta import UNKNOWN, Meta, Mismatch, Number, rule
from et_ops.inference.shapes import Shape, broadcast, differ, known, reduced, wrap_dim

__all__ = ["matmul_shape"]


def _contract(size: int, meta: Meta, dim: int, arg: str) -> None:
    """Check that a dimension of `arg` has the `size` of the one that it is summed with."""
    if differ(size, meta.shape[dim]):
        at = dim if dim < 0 else dim - meta.rank
        what = (
            {-1: "columns", -2: "rows"}.get(at, f"elements in dimension {dim}")
            if meta.rank > 1
            else "elements"
        )
        raise Mismatch(arg, f"{size} {what}", meta)


def _rank(meta: Meta, rank: int, arg: str) -> None:
    if meta.rank != rank:
        raise Mismatch(arg, f"{rank} dimensions", meta)


@rule("_int_mm")
def int_mm(self: Meta, mat2: Meta) -> Meta:
    if self.dtype not in (I8, U8):
        raise Mismatch("self", "int8 or uint8", self.dtype.torch_name)
    if mat2.dtype is not I8:
        raise Mismatch("mat2", "int8", mat2.dtype.torch_name)
    return Meta(mm(self, mat2).shape, I32)


@rule("mm")
def mm(self: Meta, mat2: Meta) -> Meta:
    _rank(self, 2, "self")
    _rank(mat2, 2, "mat2")
    _contract(self.shape[1], mat2, 0, "mat2")
    return Meta((self.shape[0], mat2.shape[1]), self.dtype)


@rule("bmm")
def bmm(self: Meta, mat2: Meta) -> Meta:
    _rank(self, 3, "self")
    _rank(mat2, 3, "mat2")
    _contract(self.shape[0], mat2, 0, "mat2")
    _contract(self.shape[2], mat2, 1, "mat2")
    return Meta((max(self.shape[0], mat2.shape[0]), self.shape[1], mat2.shape[2]), self.dtype)


@rule("mv")
def mv(self: Meta, vec: Meta) -> Meta:
    _rank(self, 2, "self")
    _rank(vec, 1, "vec")
    _contract(self.shape[1], vec, 0, "vec")
    return Meta((self.shape[0],), self.dtype)


@rule("dot", "vdot")
def dot(self: Meta, tensor: Meta) -> Meta:
    _rank(self, 1, "self")
    _rank(tensor, 1, "tensor")
    _contract(self.shape[0], tensor, 0, "tensor")
    return Meta((), self.dtype)


@rule("addmm")
def addmm(self: Meta, mat1: Meta, mat2: Meta, beta: Number, alpha: Number) -> Meta:
    product = mm(mat1, mat2)
    return Meta(_added(self, product.shape), product.dtype)


@rule("baddbmm")
def baddbmm(self: Meta, batch1: Meta, batch2: Meta, beta: Number, alpha: Number) -> Meta:
    product = bmm(batch1, batch2)
    return Meta(_added(self, product.shape), product.dtype)


@rule("baddbmm.dtype")
def baddbmm_dtype(self: Meta, batch1: Meta, batch2: Meta, out_dtype: DType, *_: object) -> Meta:
    return Meta(bmm(batch1, batch2).shape, out_dtype)


@rule("addmv")
def addmv(self: Meta, mat: Meta, vec: Meta, beta: Number, alpha: Number) -> Meta:
    product = mv(mat, vec)
    return Meta(_added(self, product.shape), product.dtype)


@rule("addbmm")
def addbmm(self: Meta, batch1: Meta, batch2: Meta, beta: Number, alpha: Number) -> Meta:
    return Meta(bmm(batch1, batch2).shape[1:], batch1.dtype)


def _check_vectors(**vectors: Meta) -> None:
    for arg, vector in vectors.items():
        if vector.rank != 1:
            raise Mismatch(arg, "one dimension", vector)


@rule("addr")
def addr(self: Meta, vec1: Meta, vec2: Meta, beta: Number, alpha: Number) -> Meta | None:
    _check_vectors(vec1=vec1, vec2=vec2)
    if self.dtype is not vec1.dtype or vec1.dtype is not vec2.dtype:
        return None
    return Meta(_added(self, (vec1.shape[0], vec2.shape[0])), self.dtype)


def _added(term: Meta, product: Shape) -> Shape:
    """The shape of a product to which a term that may broadcast, but not grow it, was added."""
    shape = broadcast(term.shape, product)
    if len(shape) != len(product) or any(map(differ, shape, product)):
        raise ValueError(f"shape {term.shape} does not broadcast to {product}")
    return shape


@rule("ger", "outer")
def outer(self: Meta, vec2: Meta) -> Meta | None:
    _check_vectors(self=self, vec2=vec2)
    return Meta((self.shape[0], vec2.shape[0]), self.dtype) if self.dtype is vec2.dtype else None


def matmul_shape(a: Shape, b: Shape) -> Shape:
    """The shape of `torch.matmul`. Raises `ValueError` for shapes it does not take."""
    if not a or not b:
        raise ValueError("matmul takes tensors of at least one dimension")
    rows = a[-2:-1]
    columns = b[-1:] if len(b) > 1 else ()
    rows_of_b = b[max(len(b) - 2, 0)]
    if differ(a[-1], rows_of_b):
        raise Mismatch("other", f"{a[-1]} rows", list(b))
    return (*broadcast(a[:-2], b[:-2]), *rows, *columns)


@rule("matmul", "linalg_matmul")
def matmul(self: Meta, other: Meta) -> Meta:
    return Meta(matmul_shape(self.shape, other.shape), self.dtype)


@rule("grouped.linear")
def grouped_linear(input: Meta, weight: Meta, ends: Meta) -> Meta:
    _rank(input, 2, "input")
    _rank(weight, 2, "weight")
    _rank(ends, 1, "ends")
    if ends.dtype not in (I32, I64):
        raise Mismatch("ends", "int32 or int64", ends.dtype.torch_name)
    if input.dtype is not weight.dtype:
        raise Mismatch("weight", input.dtype.torch_name, weight.dtype.torch_name)
    _contract(input.shape[1], weight, 1, "weight")
    stacked, groups = weight.shape[0], ends.shape[0]
    if known(stacked, groups) and (not groups or stacked % groups):
        raise Mismatch("weight", f"a multiple of {groups} rows, those of as many matrices", weight)
    return Meta((input.shape[0], stacked // groups if known(stacked, groups) else UNKNOWN), input.dtype)


@rule("linear")
def linear(input: Meta, weight: Meta, bias: Meta | None) -> Meta:
    if input.rank == 0 or weight.rank not in (1, 2):
        raise ValueError(f"linear takes a tensor and a matrix, got shapes {input.shape} and {weight.shape}")
    _contract(input.shape[-1], weight, -1, "weight")
    features = weight.shape[:-1]
    if bias is not None and bias.shape != (1,):
        _added(bias, features)
    return Meta((*input.shape[:-1], *features), input.dtype)


@rule("bilinear")
def bilinear(input1: Meta, input2: Meta, weight: Meta, bias: Meta | None) -> Meta:
    return Meta((*input1.shape[:-1], weight.shape[0]), input1.dtype)


@rule("inner")
def inner(self: Meta, other: Meta) -> Meta | None:
    if not self.shape or not other.shape:
        return None
    _contract(self.shape[-1], other, -1, "other")
    return Meta((*self.shape[:-1], *other.shape[:-1]), self.dtype)


@rule("tensordot")
def tensordot(self: Meta, other: Meta, dims_self: Sequence[int], dims_other: Sequence[int]) -> Meta:
    ours = [wrap_dim(d, self.rank) for d in dims_self]
    theirs = [wrap_dim(d, other.rank) for d in dims_other]
    left = [s for i, s in enumerate(self.shape) if i not in ours]
    right = [s for i, s in enumerate(other.shape) if i not in theirs]
    return Meta((*left, *right), self.dtype)


@rule("linalg_vecdot")
def vecdot(x: Meta, y: Meta, dim: int) -> Meta:
    shape = broadcast(x.shape, y.shape)
    return Meta(reduced(shape, (wrap_dim(dim, len(shape)),), False), x.dtype)


@rule("kron")
def kron(self: Meta, other: Meta) -> Meta | None:
    if self.dtype is not other.dtype or not known(*self.shape, *other.shape):
        return None
    rank = max(self.rank, other.rank)
    left = (1,) * (rank - self.rank) + self.shape
    right = (1,) * (rank - other.rank) + other.shape
    return Meta(tuple(a * b for a, b in zip(left, right, strict=True)), self.dtype)


@rule("scaled_dot_product_attention")
def attention(
    query: Meta,
    key: Meta,
    value: Meta,
    attn_mask: Meta | None,
    dropout_p: float,
    is_causal: bool,
    scale: float | None,
    enable_gqa: bool,
) -> Meta:
    _contract(query.shape[-1], key, -1, "key")
    _contract(key.shape[-2], value, -2, "value")
    if enable_gqa:
        # There are more heads of queries than of keys and values, and these are repeated.
        batch = (*broadcast(query.shape[:-3], key.shape[:-3], value.shape[:-3]), query.shape[-3])
    else:
        batch = broadcast(query.shape[:-2], key.shape[:-2], value.shape[:-2])
    return Meta((*batch, query.shape[-2], value.shape[-1]), query.dtype)


@rule("_scaled_dot_product_flash_attention_for_cpu")
def flash_attention(query: Meta, key: Meta, value: Meta, *_: object) -> tuple[Meta, Meta]:
    statistics = F32 if as_float(query.dtype).bits == 16 else query.dtype
    out = Meta((*query.shape[:-1], value.shape[-1]), query.dtype)
    return out, Meta(query.shape[:-1], statistics)


@rule("llama.custom_sdpa")
def cached_attention(query: Meta, key: Meta, value: Meta, *_: object) -> Meta:
    for arg, meta in (("query", query), ("key", key), ("value", value)):
        _rank(meta, 4, arg)
    _contract(query.shape[-1], key, -1, "key")
    return Meta((*query.shape[:-1], value.shape[-1]), query.dtype)


@rule("cross", "linalg_cross")
def cross(self: Meta, other: Meta, dim: int | None) -> Meta | None:
    return Meta(broadcast(self.shape, other.shape), self.dtype) if self.dtype is other.dtype else None


def _order(p: float) -> None:
    if not p >= 0:
        raise Mismatch("p", "a non-negative order", p)


@rule("cdist")
def cdist(x1: Meta, x2: Meta, p: float, compute_mode: int | None) -> Meta:
    for arg, meta in (("x1", x1), ("x2", x2)):
        if meta.rank < 2:
            raise Mismatch(arg, "at least 2 dimensions", meta)
    _contract(x1.shape[-1], x2, -1, "x2")
    _order(p)
    return Meta((*broadcast(x1.shape[:-2], x2.shape[:-2]), x1.shape[-2], x2.shape[-2]), x1.dtype)


@rule("_cdist_forward")
def cdist_forward(x1: Meta, x2: Meta, p: float, compute_mode: int | None) -> Meta:
    return cdist(x1, x2, p, compute_mode)


@rule("pdist", "_pdist_forward")
def pdist(self: Meta, p: float) -> Meta:
    _rank(self, 2, "self")
    _order(p)
    rows = self.shape[0]
    return Meta((rows * (rows - 1) // 2 if known(rows) else UNKNOWN,), self.dtype)
