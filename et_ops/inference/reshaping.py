"""Reshaping operators, as views or as copies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from et_ops.dtypes import BOOL, C32, C64, C128, F16, F32, F64, I64, DType, real_of
from et_ops.inference.meta import UNKNOWN, Meta, Mismatch, rule
from et_ops.inference.pointwise import promoted
from et_ops.inference.shapes import (
    Shape,
    below,
    broadcast,
    ceil_div,
    differ,
    known,
    numel,
    reshaped,
    sized,
    sliced,
    unlike,
    with_size,
    wrap_dim,
    wrap_dims,
)


@rule("permute", "permute_copy")
def permute(self: Meta, dims: Sequence[int]) -> Meta:
    order = tuple(wrap_dim(dim, self.rank) for dim in dims)
    if sorted(order) != list(range(self.rank)):
        raise Mismatch("dims", f"a permutation of {self.rank} dimensions", list(dims))
    return Meta(tuple(self.shape[i] for i in order), self.dtype)


@rule("transpose.int", "transpose_copy.int", "swapaxes", "swapdims")
def transpose(self: Meta, dim0: int, dim1: int) -> Meta:
    shape = list(self.shape)
    a, b = wrap_dim(dim0, self.rank), wrap_dim(dim1, self.rank)
    if shape:
        shape[a], shape[b] = shape[b], shape[a]
    return Meta(tuple(shape), self.dtype)


@rule("t", "t_copy")
def matrix_transpose(self: Meta) -> Meta:
    if self.rank > 2:
        raise Mismatch("self", "at most 2 dimensions", self)
    return Meta(self.shape[::-1], self.dtype)


@rule("numpy_T")
def reverse_dims(self: Meta) -> Meta:
    return Meta(self.shape[::-1], self.dtype)


@rule("mT", "mH", "adjoint", "matrix_H")
def last_two_swapped(self: Meta) -> Meta:
    if self.rank == 0:
        return self
    if self.rank == 1:
        raise ValueError("the operator takes a matrix or a batch of matrices, got a vector")
    return Meta((*self.shape[:-2], self.shape[-1], self.shape[-2]), self.dtype)


@rule("view", "view_copy", "reshape", "_unsafe_view")
def view(self: Meta, size: Sequence[int]) -> Meta:
    return Meta(reshaped(self.shape, size), self.dtype)


@rule("_reshape_alias", "_reshape_alias_copy")
def reshape_alias(self: Meta, size: Sequence[int], stride: Sequence[int]) -> Meta:
    if len(stride) != len(size):
        raise Mismatch("stride", f"{len(size)} strides", list(stride))
    return view(self, size)


@rule("view_as", "reshape_as")
def view_as(self: Meta, other: Meta) -> Meta:
    return Meta(other.shape, self.dtype)


@rule("view_copy.dtype")
def view_dtype(self: Meta, dtype: DType) -> Meta | None:
    ours, theirs = _bytes(self.dtype), _bytes(dtype)
    if ours == theirs:
        return Meta(self.shape, dtype)
    if not self.shape:
        raise Mismatch("self", "at least one dimension", self)
    if not known(self.shape[-1]):
        return None
    if self.shape[-1] * ours % theirs:
        raise Mismatch("self", f"rows of a multiple of {theirs} bytes", self)
    return Meta((*self.shape[:-1], self.shape[-1] * ours // theirs), dtype)


def _bytes(dtype: DType) -> int:
    return ceil_div(dtype.bits, 8) * (2 if dtype.is_complex else 1)


@rule("real", "imag")
def part(self: Meta) -> Meta:
    return Meta(self.shape, real_of(self.dtype))


@rule("view_as_real_copy", "view_as_real")
def view_as_real(self: Meta) -> Meta:
    return Meta((*self.shape, 2), real_of(self.dtype))


_OF_PARTS = {F16: C32, F32: C64, F64: C128}


@rule("view_as_complex_copy", "view_as_complex")
def view_as_complex(self: Meta) -> Meta | None:
    if not self.shape or differ(self.shape[-1], 2):
        raise Mismatch("self", "a last dimension of size 2", self)
    dtype = _OF_PARTS.get(self.dtype)
    return None if dtype is None else Meta(self.shape[:-1], dtype)


@rule("complex", "polar")
def complex_of(self: Meta, other: Meta) -> Meta | None:
    dtype = _OF_PARTS.get(self.dtype)
    return None if dtype is None else Meta(broadcast(self.shape, other.shape), dtype)


@rule("expand", "expand_copy", "broadcast_to")
def expand(self: Meta, size: Sequence[int], implicit: bool = False) -> Meta:
    if len(size) < self.rank:
        raise Mismatch("size", f"at least {self.rank} sizes", list(size))
    lead = len(size) - self.rank
    shape: list[int] = []
    for i, wanted in enumerate(size):
        own = 1 if i < lead else self.shape[i - lead]
        if wanted == -1 and i >= lead:
            shape.append(own)
        elif wanted == UNKNOWN:
            shape.append(own if own > 1 else UNKNOWN)
        elif wanted < 0 or (own not in (wanted, 1) and own >= 0):
            raise Mismatch("size", f"a shape that {list(self.shape)} expands to", list(size))
        else:
            shape.append(wanted)
    return Meta(tuple(shape), self.dtype)


@rule("expand_as")
def expand_as(self: Meta, other: Meta) -> Meta:
    return Meta(other.shape, self.dtype)


@rule("slice.Tensor", "slice_copy.Tensor")
def slice_(self: Meta, dim: int, start: int | None, end: int | None, step: int) -> Meta:
    dim = _axis(self, dim)
    return Meta(with_size(self.shape, dim, sliced(self.shape[dim], start, end, step)), self.dtype)


def _axis(self: Meta, dim: int) -> int:
    """A dimension of a tensor that has one, counted from the front."""
    if not self.shape:
        raise Mismatch("self", "at least one dimension", "a 0-d tensor")
    return wrap_dim(dim, self.rank)


@rule("narrow", "narrow.Tensor", "narrow_copy")
def narrow(self: Meta, dim: int, start: int | Meta, length: int) -> Meta:
    axis = _axis(self, dim)
    size = self.shape[axis]
    if length < 0 and length != UNKNOWN:
        raise Mismatch("length", "a non-negative size", length)
    if not isinstance(start, Meta) and start != UNKNOWN and known(size):
        first = start + size if start < 0 else start
        if first < 0 or below(size, first) or below(size - first, length):
            good = f"a range inside dimension {axis} of size {size}"
            raise Mismatch("length", good, (start, length))
    return Meta(with_size(self.shape, axis, length), self.dtype)


@rule("select.int", "select_copy.int")
def select(self: Meta, dim: int, index: int) -> Meta:
    dim = _axis(self, dim)
    size = self.shape[dim]
    if index != UNKNOWN and known(size) and not -size <= index < size:
        raise Mismatch("index", f"an index in [{-size}, {size})", index)
    return Meta(self.shape[:dim] + self.shape[dim + 1 :], self.dtype)


@rule("unfold_copy", "unfold")
def unfold(self: Meta, dimension: int, size: int, step: int) -> Meta:
    dim = wrap_dim(dimension, self.rank)
    have = self.shape[dim] if self.shape else 1
    if size < 0 or below(have, size):
        raise Mismatch("size", f"a size in [0, {have}]", size)
    if step <= 0:
        raise Mismatch("step", "a positive step", step)
    count = (have - size) // step + 1 if known(have) else UNKNOWN
    shape = with_size(self.shape, dim, count) if self.shape else ()
    return Meta((*shape, size), self.dtype)


@rule("squeeze", "squeeze_copy")
def squeeze(self: Meta) -> Meta | None:
    if not known(*self.shape):
        return None
    return Meta(tuple(size for size in self.shape if size != 1), self.dtype)


@rule("squeeze.dim", "squeeze_copy.dim")
def squeeze_dim(self: Meta, dim: int) -> Meta | None:
    return squeeze_dims(self, (dim,))


@rule("squeeze.dims", "squeeze_copy.dims")
def squeeze_dims(self: Meta, dim: Sequence[int]) -> Meta | None:
    dims = wrap_dims(dim, self.rank, empty_is_all=False)
    if not self.shape:
        return self
    if any(not known(self.shape[i]) for i in dims):
        return None
    return Meta(tuple(s for i, s in enumerate(self.shape) if i not in dims or s != 1), self.dtype)


@rule("unsqueeze", "unsqueeze_copy")
def unsqueeze(self: Meta, dim: int) -> Meta:
    dim = wrap_dim(dim, self.rank + 1)
    return Meta((*self.shape[:dim], 1, *self.shape[dim:]), self.dtype)


@rule("flatten.using_ints")
def flatten(self: Meta, start_dim: int, end_dim: int) -> Meta:
    if not self.shape:
        return Meta((1,), self.dtype)
    start, end = wrap_dim(start_dim, self.rank), wrap_dim(end_dim, self.rank)
    count = numel(self.shape[start : end + 1])
    merged = UNKNOWN if count is None else count
    return Meta((*self.shape[:start], merged, *self.shape[end + 1 :]), self.dtype)


@rule("ravel")
def ravel(self: Meta) -> Meta:
    return flatten(self, 0, -1)


@rule("unflatten.int")
def unflatten(self: Meta, dim: int, sizes: Sequence[int]) -> Meta:
    dim = wrap_dim(dim, self.rank)
    return Meta(
        (*self.shape[:dim], *reshaped((self.shape[dim],), sizes, "sizes"), *self.shape[dim + 1 :]), self.dtype
    )


@rule("movedim.int", "moveaxis.int")
def movedim_int(self: Meta, source: int, destination: int) -> Meta:
    return movedim(self, (source,), (destination,))


@rule("movedim.intlist", "moveaxis.intlist")
def movedim(self: Meta, source: Sequence[int], destination: Sequence[int]) -> Meta:
    return permute(self, moved_order(self.rank, source, destination)) if self.shape else self


def moved_order(rank: int, source: Sequence[int], destination: Sequence[int]) -> tuple[int, ...]:
    """The permutation that moves dimensions to new places and keeps the order of the others."""
    sources, places = ([wrap_dim(dim, rank) for dim in dims] for dims in (source, destination))
    if len(set(sources)) != len(sources) or len(set(places)) != len(places) or len(sources) != len(places):
        raise ValueError(f"cannot move dimensions {tuple(source)} to {tuple(destination)}")
    rest = iter(i for i in range(rank) if i not in sources)
    return tuple(sources[places.index(i)] if i in places else next(rest) for i in range(rank))


@rule("diagonal", "diagonal_copy")
def diagonal(self: Meta, offset: int, dim1: int, dim2: int) -> Meta:
    if self.rank < 2:
        raise Mismatch("self", "at least 2 dimensions", self)
    a, b = wrap_dim(dim1, self.rank), wrap_dim(dim2, self.rank)
    if a == b:
        raise Mismatch("dim2", f"another dimension than {a}", dim2)
    rows, columns = self.shape[a], self.shape[b]
    rest = tuple(s for i, s in enumerate(self.shape) if i not in (a, b))
    if not known(rows, columns):
        return Meta((*rest, UNKNOWN), self.dtype)
    return Meta((*rest, max(0, min(rows + min(offset, 0), columns - max(offset, 0)))), self.dtype)


@rule("as_strided", "as_strided_copy")
def as_strided(self: Meta, size: Sequence[int], stride: Sequence[int], storage_offset: int | None) -> Meta:
    if len(stride) != len(size) or any(step < 0 and step != UNKNOWN for step in stride):
        raise Mismatch("stride", f"{len(size)} non-negative strides", list(stride))
    if storage_offset is not None and storage_offset < 0 and storage_offset != UNKNOWN:
        raise Mismatch("storage_offset", "a non-negative offset", storage_offset)
    return Meta(sized(size), self.dtype)


@rule("tile")
def tile(self: Meta, repeats: Sequence[int]) -> Meta:
    if any(count < 0 and count != UNKNOWN for count in repeats):
        raise Mismatch("repeats", "non-negative numbers", list(repeats))
    rank = max(self.rank, len(repeats))
    own = (1,) * (rank - self.rank) + self.shape
    times = (1,) * (rank - len(repeats)) + tuple(repeats)
    return Meta(tuple(s * t if known(s, t) else UNKNOWN for s, t in zip(own, times, strict=True)), self.dtype)


@rule("repeat")
def repeat(self: Meta, repeats: Sequence[int]) -> Meta:
    if len(repeats) < self.rank:
        raise Mismatch("repeats", f"at least {self.rank} numbers", list(repeats))
    return tile(self, repeats)


@rule("roll")
def roll(self: Meta, shifts: Sequence[int], dims: Sequence[int]) -> Meta:
    if len(shifts) != (len(dims) or 1):
        raise Mismatch(
            "shifts", f"{len(dims)} shifts" if dims else "one shift, as there are no dims", list(shifts)
        )
    for dim in dims:
        _axis(self, dim)
    return Meta(self.shape, self.dtype)


@rule("slice_scatter")
def slice_scatter(self: Meta, src: Meta, dim: int, start: int | None, end: int | None, step: int) -> Meta:
    return _replacing(src, slice_(self, dim, start, end, step), self)


@rule("select_scatter")
def select_scatter(self: Meta, src: Meta, dim: int, index: int) -> Meta:
    return _replacing(src, select(self, dim, index), self)


def _replacing(src: Meta, place: Meta, self: Meta) -> Meta:
    if unlike(src.shape, place.shape):
        raise Mismatch("src", f"shape {list(place.shape)}", src)
    return Meta(self.shape, self.dtype)


# -- several tensors in or out


@rule("cat", "concat", "concatenate")
def cat(tensors: Sequence[Meta], dim: int) -> Meta:
    if not tensors:
        raise Mismatch("tensors", "at least one tensor", "none")
    dtype = promoted(*tensors)
    # Empty tensors of rank 1 are ignored whatever the others' rank: a convention older than empty shapes.
    parts = [t.shape for t in tensors if t.shape != (0,)]
    if not parts:
        return Meta((0,), dtype)
    first = parts[0]
    if not first:
        raise Mismatch("tensors", "at least one dimension", "a 0-d tensor")
    axis = wrap_dim(dim, len(first))
    total = 0
    shape: Shape = first
    for part in parts:
        if len(part) != len(first) or any(
            i != axis and differ(*pair) for i, pair in enumerate(zip(shape, part, strict=True))
        ):
            raise Mismatch("tensors", f"shape {list(first)} except in dimension {axis}", list(part))
        total = total + part[axis] if known(total, part[axis]) else UNKNOWN
        shape = tuple(max(a, b) if i != axis else 0 for i, (a, b) in enumerate(zip(shape, part, strict=True)))
    return Meta(with_size(shape, axis, total), dtype)


@rule("stack")
def stack(tensors: Sequence[Meta], dim: int) -> Meta:
    if not tensors:
        raise Mismatch("tensors", "at least one tensor", "none")
    shape = tensors[0].shape
    for tensor in tensors:
        if unlike(shape, tensor.shape):
            raise Mismatch("tensors", f"shape {list(shape)}", tensor)
        shape = tuple(map(max, shape, tensor.shape))
    axis = wrap_dim(dim, len(shape) + 1)
    return Meta((*shape[:axis], len(tensors), *shape[axis:]), promoted(*tensors))


@rule("hstack")
def hstack(tensors: Sequence[Meta]) -> Meta:
    rows = [t if t.shape else Meta((1,), t.dtype) for t in tensors]
    return cat(rows, 0 if not rows or rows[0].rank == 1 else 1)


@rule("vstack", "row_stack")
def vstack(tensors: Sequence[Meta]) -> Meta:
    return cat([at_least_2d(t) for t in tensors], 0)


@rule("column_stack")
def column_stack(tensors: Sequence[Meta]) -> Meta:
    columns = [t if t.rank > 1 else Meta((*(t.shape or (1,)), 1), t.dtype) for t in tensors]
    return cat(columns, 1)


@rule("dstack")
def dstack(tensors: Sequence[Meta]) -> Meta:
    return cat([at_least_3d(t) for t in tensors], 2)


@rule("atleast_1d")
def at_least_1d(self: Meta) -> Meta:
    return self if self.shape else Meta((1,), self.dtype)


@rule("atleast_2d")
def at_least_2d(self: Meta) -> Meta:
    return self if self.rank > 1 else Meta((1, *(self.shape or (1,))), self.dtype)


@rule("atleast_3d")
def at_least_3d(self: Meta) -> Meta:
    return self if self.rank > 2 else Meta((*at_least_2d(self).shape, 1), self.dtype)


@rule("atleast_1d.Sequence")
def each_at_least_1d(tensors: Sequence[Meta]) -> list[Meta]:
    return [at_least_1d(t) for t in tensors]


@rule("atleast_2d.Sequence")
def each_at_least_2d(tensors: Sequence[Meta]) -> list[Meta]:
    return [at_least_2d(t) for t in tensors]


@rule("atleast_3d.Sequence")
def each_at_least_3d(tensors: Sequence[Meta]) -> list[Meta]:
    return [at_least_3d(t) for t in tensors]


@rule("broadcast_tensors")
def broadcast_tensors(tensors: Sequence[Meta]) -> list[Meta]:
    shape = broadcast(*(t.shape for t in tensors))
    return [Meta(shape, t.dtype) for t in tensors]


@rule("meshgrid", "meshgrid.indexing")
def meshgrid(tensors: Sequence[Meta], indexing: str = "ij") -> list[Meta]:
    sizes = [numel(t.shape) for t in tensors]
    shape = [UNKNOWN if size is None else size for size in sizes]
    if indexing == "xy" and len(shape) > 1:
        shape[0], shape[1] = shape[1], shape[0]
    return [Meta(tuple(shape), t.dtype) for t in tensors]


_MOST_RESULTS: Final = 100_000
"""Results of one op, at most: a number of pieces in a few bytes of a program takes no memory in proportion to it."""


def _check_count(arg: str, count: int) -> None:
    if count > _MOST_RESULTS:
        raise Mismatch(arg, f"at most {_MOST_RESULTS:,} results", count)


def _pieces(self: Meta, dim: int, sizes: Sequence[int]) -> list[Meta]:
    return [Meta(with_size(self.shape, dim, size), self.dtype) for size in sizes]


@rule("split.Tensor", "split_copy.Tensor", "unsafe_split.Tensor")
def split(self: Meta, split_size: int, dim: int) -> list[Meta] | None:
    dim = _axis(self, dim)
    size = self.shape[dim]
    if not known(size) or split_size == UNKNOWN:
        return None
    if split_size < 0 or (split_size == 0 and size != 0):
        raise Mismatch("split_size", "a positive size", split_size)
    if split_size == 0:
        return _pieces(self, dim, [0])
    _check_count("split_size", ceil_div(size, split_size))
    return _pieces(self, dim, [min(split_size, size - at) for at in range(0, size, split_size)] or [0])


@rule("split.sizes", "split_with_sizes", "split_with_sizes_copy", "unsafe_split_with_sizes")
def split_with_sizes(self: Meta, split_sizes: Sequence[int], dim: int) -> list[Meta]:
    dim = _axis(self, dim)
    size = self.shape[dim]
    if known(size, *sized(split_sizes, "split_sizes")) and sum(split_sizes) != size:
        raise Mismatch("split_sizes", f"sizes that add up to {size}", list(split_sizes))
    return _pieces(self, dim, split_sizes)


@rule("chunk", "unsafe_chunk")
def chunk(self: Meta, chunks: int, dim: int) -> list[Meta] | None:
    dim = wrap_dim(dim, self.rank)
    size = self.shape[dim]
    if not known(size):
        return None
    if size == 0:
        _check_count("chunks", chunks)
        return _pieces(self, dim, [0] * chunks)
    return split(self, ceil_div(size, chunks), dim)


@rule("tensor_split.sections")
def tensor_split(self: Meta, sections: int, dim: int) -> list[Meta] | None:
    dim = wrap_dim(dim, self.rank)
    size = self.shape[dim]
    if not known(size, sections):
        return None
    _check_count("sections", sections)
    return _pieces(self, dim, [size // sections + (i < size % sections) for i in range(sections)])


@rule("tensor_split.indices")
def tensor_split_indices(self: Meta, indices: Sequence[int], dim: int) -> list[Meta]:
    dim = wrap_dim(dim, self.rank)
    starts = [0, *indices]
    ends: list[int | None] = [*indices, None]
    return _pieces(self, dim, [sliced(self.shape[dim], s, e, 1) for s, e in zip(starts, ends, strict=True)])


@rule("tensor_split.tensor_indices_or_sections")
def tensor_split_anywhere(self: Meta, tensor_indices_or_sections: Meta, dim: int) -> list[Meta] | None:
    if tensor_indices_or_sections.rank != 1 or not known(*tensor_indices_or_sections.shape):
        return None
    _check_count("tensor_indices_or_sections", tensor_indices_or_sections.shape[0])
    return _pieces(self, wrap_dim(dim, self.rank), [UNKNOWN] * (tensor_indices_or_sections.shape[0] + 1))


def _split_axis(name: str, rank: int) -> int:
    return {"hsplit": 0 if rank == 1 else 1, "vsplit": 0, "dsplit": 2}[name]


@rule("hsplit.int")
def hsplit(self: Meta, sections: int) -> list[Meta] | None:
    return tensor_split(self, sections, _split_axis("hsplit", self.rank))


@rule("vsplit.int")
def vsplit(self: Meta, sections: int) -> list[Meta] | None:
    return tensor_split(self, sections, 0)


@rule("dsplit.int")
def dsplit(self: Meta, sections: int) -> list[Meta] | None:
    return tensor_split(self, sections, 2)


@rule("hsplit.array")
def hsplit_at(self: Meta, indices: Sequence[int]) -> list[Meta]:
    return tensor_split_indices(self, indices, _split_axis("hsplit", self.rank))


@rule("vsplit.array")
def vsplit_at(self: Meta, indices: Sequence[int]) -> list[Meta]:
    return tensor_split_indices(self, indices, 0)


@rule("dsplit.array")
def dsplit_at(self: Meta, indices: Sequence[int]) -> list[Meta]:
    return tensor_split_indices(self, indices, 2)


@rule("unbind.int", "unbind_copy.int")
def unbind(self: Meta, dim: int) -> list[Meta] | None:
    dim = _axis(self, dim)
    size = self.shape[dim]
    if not known(size):
        return None
    _check_count("self", size)
    return [Meta(self.shape[:dim] + self.shape[dim + 1 :], self.dtype)] * size


# -- reorderings that keep the shape


@rule("flip")
def flip(self: Meta, dims: Sequence[int]) -> Meta:
    wrap_dims(dims, self.rank, empty_is_all=False)
    return self


@rule("tril", "triu")
def triangle(self: Meta, diagonal: int) -> Meta:
    if self.rank < 2:
        raise Mismatch("self", "at least 2 dimensions", self)
    return self


def _image(self: Meta) -> None:
    if self.rank < 3:
        raise Mismatch("self", "at least 3 dimensions", self)


@rule("channel_shuffle", "native_channel_shuffle")
def channel_shuffle(self: Meta, groups: int) -> Meta:
    _image(self)
    channels = self.shape[1]
    if groups != UNKNOWN and (groups <= 0 or (known(channels) and channels % groups)):
        raise Mismatch("groups", f"a divisor of {channels}", groups)
    return self


@rule("fliplr", "flipud", "renorm")
def rearranged(self: Meta, *_: object) -> Meta:
    return Meta(self.shape, self.dtype)


@rule("fft_fftshift", "fft_ifftshift")
def shifted(self: Meta, dim: Sequence[int] | None) -> Meta:
    return Meta(self.shape, self.dtype)


@rule("rot90")
def rot90(self: Meta, k: int, dims: Sequence[int]) -> Meta:
    if len(dims) != 2:
        raise Mismatch("dims", "two dimensions", list(dims))
    return transpose(self, dims[0], dims[1]) if k % 2 else Meta(self.shape, self.dtype)


@rule("pixel_shuffle")
def pixel_shuffle(self: Meta, upscale_factor: int) -> Meta:
    _image(self)
    if upscale_factor <= 0:
        raise Mismatch("upscale_factor", "a positive factor", upscale_factor)
    *batch, channels, height, width = self.shape
    if known(channels) and channels % upscale_factor**2:
        raise Mismatch("self", f"a multiple of {upscale_factor**2} channels", self)
    scaled = tuple(s * upscale_factor if known(s) else UNKNOWN for s in (height, width))
    return Meta((*batch, channels // upscale_factor**2 if known(channels) else UNKNOWN, *scaled), self.dtype)


@rule("pixel_unshuffle")
def pixel_unshuffle(self: Meta, downscale_factor: int) -> Meta:
    _image(self)
    if downscale_factor <= 0:
        raise Mismatch("downscale_factor", "a positive factor", downscale_factor)
    *batch, channels, height, width = self.shape
    if any(known(size) and size % downscale_factor for size in (height, width)):
        raise Mismatch("self", f"height and width divisible by {downscale_factor}", self)
    scaled = tuple(s // downscale_factor if known(s) else UNKNOWN for s in (height, width))
    return Meta((*batch, channels * downscale_factor**2 if known(channels) else UNKNOWN, *scaled), self.dtype)


# -- sizes


@rule("_local_scalar_dense", "item")
def number(self: Meta) -> DType | None:
    if self.dtype.is_complex:
        return None
    return F64 if self.dtype.is_float else BOOL if self.dtype is BOOL else I64


@rule("sym_is_contiguous")
def truth(self: Meta, memory_format: str) -> DType:
    return BOOL


@rule("sym_size.int", "sym_stride.int", "sym_numel", "sym_storage_offset", "size.int", "stride.int")
def size(self: Meta, *_: object) -> DType:
    return I64
