"""Operators evaluated in numpy: movement of data, conversion, creation, comparison and plain arithmetic.

The results are torch's to the bit. Where torch computes half precision in single, so does this; what numpy
would round differently (transcendental functions, sums, powers other than the square) is left to torch, and so are the
larger and the smaller of two, as which zero that is of two depends on torch's kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import ml_dtypes
import numpy as np

from et_ir.evaluation.arrays import Array, numpy_dtype
from et_ir.evaluation.call import ConstantCall, Kernel
from et_ops.facts import DECLARED

__all__ = ["KERNELS", "REARRANGEMENTS", "kernel_for"]

KERNELS: Final[dict[str, Kernel]] = {}
"""Kernels by the name of what an operator computes, views without `_copy`."""


def _kernel(*names: str) -> Callable[[Kernel], Kernel]:
    def register(function: Kernel) -> Kernel:
        for name in names:
            KERNELS[name] = function
        return function

    return register


# -- movement


@_kernel(*(name for name, facts in DECLARED.items() if facts.reshapes))
def reshape(call: ConstantCall) -> Array:
    return call["self"].reshape(call.shape)


@_kernel("permute")
def permute(call: ConstantCall) -> Array:
    return call["self"].transpose(call["dims"])


@_kernel("transpose.int")
def transpose(call: ConstantCall) -> Array:
    array = call["self"]
    return array.swapaxes(call["dim0"], call["dim1"]) if array.ndim else array


@_kernel("t")
def t(call: ConstantCall) -> Array:
    return call["self"].T


REARRANGEMENTS: Final[frozenset[Kernel]] = frozenset((reshape, permute, transpose, t))
"""Kernels whose result holds each element of their only tensor once, where is decided by shapes and literals."""


@_kernel("expand", "broadcast_to", "expand_as")
def expand(call: ConstantCall) -> Array:
    return np.broadcast_to(call["self"], call.shape)


@_kernel("slice.Tensor")
def slice_(call: ConstantCall) -> Array:
    array, dim = call["self"], call["dim"]
    return array[_at(array, dim, slice(call["start"], call["end"], call["step"]))]


@_kernel("narrow")
def narrow(call: ConstantCall) -> Array:
    array: Array = call["self"]
    dim: int = call["dim"]
    start: int = call["start"]
    if start < 0:
        start += array.shape[dim]
    return array[_at(array, dim, slice(start, start + call["length"]))]


@_kernel("select.int")
def select(call: ConstantCall) -> Array:
    array = call["self"]
    return array[_at(array, call["dim"], call["index"])]


def _at(array: Array, dim: int, index: Any) -> tuple[Any, ...]:
    """An index in one dimension of an array."""
    dim %= array.ndim
    return (*(slice(None),) * dim, index)


@_kernel(
    "split.Tensor",
    "split_with_sizes",
    "chunk",
    "unsafe_split.Tensor",
    "unsafe_split_with_sizes",
    "unsafe_chunk",
)
def split(call: ConstantCall) -> list[Array]:
    array: Array = call["self"]
    dim: int = call["dim"]
    axis = dim % array.ndim
    pieces: list[Array] = []
    start = 0
    for type in call.types:
        size = type.get_shape()[axis]
        pieces.append(array[_at(array, axis, slice(start, start + size))])
        start += size
    return pieces


@_kernel("unbind.int")
def unbind(call: ConstantCall) -> list[Array]:
    return list(np.moveaxis(call["self"], call["dim"], 0))


@_kernel("cat", "concat")
def cat(call: ConstantCall) -> Array:
    full = [a for a in call["tensors"] if a.shape != (0,)]
    return (
        np.concatenate([_converted(a, call.dtype) for a in full], call["dim"]) if full else call["tensors"][0]
    )


@_kernel("stack")
def stack(call: ConstantCall) -> Array:
    return np.stack([_converted(a, call.dtype) for a in call["tensors"]], call["dim"])


@_kernel("flip")
def flip(call: ConstantCall) -> Array:
    return np.flip(call["self"], call["dims"]) if call["dims"] else call["self"]


@_kernel("repeat")
def repeat(call: ConstantCall) -> Array:
    return np.tile(call["self"], call["repeats"])


@_kernel("diagonal")
def diagonal(call: ConstantCall) -> Array:
    return np.diagonal(call["self"], call["offset"], call["dim1"], call["dim2"])


@_kernel("tril")
def tril(call: ConstantCall) -> Array:
    return np.tril(call["self"], call["diagonal"])


@_kernel("triu")
def triu(call: ConstantCall) -> Array:
    return np.triu(call["self"], call["diagonal"])


@_kernel("index_select")
def index_select(call: ConstantCall) -> Array:
    array = call["self"]
    return array.take(call["index"], call["dim"]) if array.ndim else array


@_kernel("embedding")
def embedding(call: ConstantCall) -> Array:
    return call["weight"][call["indices"]]


@_kernel("gather")
def gather(call: ConstantCall) -> Array:
    array: Array = call["self"]
    index: Array = call["index"]
    dim: int = call["dim"]
    if index.size and index.min() < 0:
        raise IndexError("torch counts no index of gather from the end")
    if not array.ndim or not index.ndim:
        return np.broadcast_to(array.reshape(-1)[index], call.shape)
    dim %= array.ndim
    # Torch lets the index be smaller than the array in the other dimensions.
    within = tuple(slice(None) if i == dim else slice(0, size) for i, size in enumerate(index.shape))
    return np.take_along_axis(array[within], index, dim)


# -- conversion and creation


def _converted(value: Any, dtype: np.dtype[Any]) -> Array:
    """An array or number in another dtype; numbers too large for it wrap, as in torch."""
    with np.errstate(all="ignore"):
        return np.asarray(value).astype(dtype, copy=False)


@_kernel("_to_copy", "to.dtype", "to.dtype_layout", "to.device", "dim_order_ops._to_dim_order_copy")
def to_copy(call: ConstantCall) -> Array:
    return _converted(call["self"], call.dtype)


@_kernel("copy")
def copy(call: ConstantCall) -> Array:
    return np.broadcast_to(_converted(call["src"], call.dtype), call.shape)


@_kernel("full", "full_like", "new_full", "fill.Scalar")
def full(call: ConstantCall) -> Array:
    value = call["value"] if "value" in call.args else call["fill_value"]
    return np.broadcast_to(_converted(value, call.dtype), call.shape)


@_kernel("zeros", "zeros_like", "new_zeros")
def zeros(call: ConstantCall) -> Array:
    return np.broadcast_to(np.zeros((), call.dtype), call.shape)


@_kernel("ones", "ones_like", "new_ones")
def ones(call: ConstantCall) -> Array:
    return np.broadcast_to(_converted(1, call.dtype), call.shape)


@_kernel("scalar_tensor")
def scalar_tensor(call: ConstantCall) -> Array:
    return _converted(call["s"], call.dtype)


def arange(call: ConstantCall) -> Array:
    start, step = call.args.get("start") or 0, call.args.get("step")
    numbers = np.arange(call.shape[0], dtype=np.int64) * (1 if step is None else int(step)) + int(start)
    return _converted(numbers, call.dtype)


# -- arithmetic

HALVES: Final = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))
"""The dtypes of 16-bit floats."""
_ARITHMETIC: Final[set[Kernel]] = set()
"""Kernels that compute new numbers of their operands."""


def _arithmetic(*names: str) -> Callable[[Kernel], Kernel]:
    def register(function: Kernel) -> Kernel:
        _ARITHMETIC.add(function)
        return _kernel(*names)(function)

    return register


def _operands(call: ConstantCall, *names: str) -> list[Array]:
    """Operands in the type they are computed in: half precision in single, after they are rounded to it."""
    assert call.computed is not None
    computed = numpy_dtype(call.computed)
    operands = [_converted(call[name], computed) for name in names]
    return [_converted(one, np.dtype(np.float32)) for one in operands] if computed in HALVES else operands


def _result(call: ConstantCall, value: Array) -> Array:
    return np.broadcast_to(_converted(value, call.dtype), call.shape)


def _scaled(call: ConstantCall, value: Array) -> Array:
    alpha = call["alpha"]
    return value if alpha == 1 else value * _converted(alpha, value.dtype)


@_arithmetic("add.Tensor", "add.Scalar")
def add(call: ConstantCall) -> Array:
    a, b = _operands(call, "self", "other")
    return _result(call, a + _scaled(call, b))


def _differing(call: ConstantCall) -> list[Array]:
    """The operands of a difference. Raises `TypeError` for truth values, of which torch refuses it."""
    if any(np.asarray(call[name]).dtype == np.bool_ for name in ("self", "other")):
        raise TypeError("a difference of truth values")
    return _operands(call, "self", "other")


@_arithmetic("sub.Tensor", "sub.Scalar")
def sub(call: ConstantCall) -> Array:
    a, b = _differing(call)
    return _result(call, a - _scaled(call, b))


@_arithmetic("rsub.Tensor", "rsub.Scalar")
def rsub(call: ConstantCall) -> Array:
    a, b = _differing(call)
    return _result(call, b - _scaled(call, a))


@_arithmetic("div.Tensor", "div.Scalar")
def div(call: ConstantCall) -> Array:
    if call.dtype in HALVES:
        a, b = _operands(call, "self", "other")
    else:
        a, b = (_converted(call[name], call.dtype) for name in ("self", "other"))
    with np.errstate(all="ignore"):
        return _result(call, a / b)


def _binary(function: Callable[[Array, Array], Array]) -> Kernel:
    def kernel(call: ConstantCall) -> Array:
        a, b = _operands(call, "self", "other")
        with np.errstate(all="ignore"):
            return _result(call, function(a, b))

    return kernel


for _name, _function in {
    "mul": np.multiply,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "__and__": np.bitwise_and,
    "__or__": np.bitwise_or,
    "__xor__": np.bitwise_xor,
}.items():
    _arithmetic(f"{_name}.Tensor", f"{_name}.Scalar")(_binary(_function))
for _name, _function in {
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
}.items():
    _arithmetic(_name)(_binary(_function))


def _unary(function: Callable[[Array], Array]) -> Kernel:
    def kernel(call: ConstantCall) -> Array:
        value = call["self"]
        # An integer becomes the float that the result is.
        dtype = call.dtype if value.dtype.kind in "iub" and call.dtype != np.bool_ else value.dtype
        if dtype in HALVES:
            dtype = np.dtype(np.float32)
        with np.errstate(all="ignore"):
            return _result(call, function(_converted(value, dtype)))

    return kernel


def _reciprocal(a: Array) -> Array:
    return np.ones((), a.dtype) / a


def _rsqrt(a: Array) -> Array:
    return np.ones((), a.dtype) / np.sqrt(a)


def _of_numbers(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """A function that raises `TypeError` for truth values, of which torch refuses it."""

    def checked(a: Array) -> Array:
        if a.dtype == np.bool_:
            raise TypeError("a function of numbers, of truth values")
        return function(a)

    return checked


_UNARY: Final[dict[str, Callable[[Array], Array]]] = {
    "abs": _of_numbers(np.abs),
    "bitwise_not": np.invert,
    "ceil": _of_numbers(np.ceil),
    "floor": _of_numbers(np.floor),
    "isinf": np.isinf,
    "isnan": np.isnan,
    "logical_not": np.logical_not,
    "neg": np.negative,
    "reciprocal": _reciprocal,
    "rsqrt": _rsqrt,
    "sqrt": np.sqrt,
    "square": np.square,
    "trunc": _of_numbers(np.trunc),
}
for _name, _unary_function in _UNARY.items():
    _arithmetic(_name)(_unary(_unary_function))


@_kernel("where.self")
def where(call: ConstantCall) -> Array:
    return np.where(
        call["condition"].astype(np.bool_),
        _converted(call["self"], call.dtype),
        _converted(call["other"], call.dtype),
    )


@_kernel("masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill(call: ConstantCall) -> Array:
    value = np.asarray(call["value"])
    if call.dtype.kind in "iu":
        largest = np.iinfo(call.dtype).max
        # Torch takes negative numbers for unsigned types, too.
        if not -largest - 1 <= value <= largest or (call.dtype.kind == "u" and value == -largest - 1):
            raise TypeError(f"{value} is no number of {call.dtype}")
    return np.where(call["mask"], _converted(call["value"], call.dtype), call["self"])


def _whole(number: Any) -> bool:
    return number is None or (isinstance(number, int | float) and float(number).is_integer())


def kernel_for(
    name: str,
    literals: Mapping[str, Any],
    *,
    is_half: bool = False,
    is_complex: bool = False,
    has_numbers: bool = False,
) -> Kernel | None:
    """The kernel for an operator with these literals.

    `is_half` says that it is computed in a type of 16-bit floats or gives one, `is_complex` that there are complex
    operands or results, `has_numbers` that numbers, or tensors without dimensions, stand in tensor slots. The answer
    is `None` where torch has to do it: it rounds the numbers that half-precision tensors are combined with in some
    kernels, and not in others, and multiplies complex numbers by 1 in sums, which makes NaN of infinities.
    """
    if name in ("arange", "arange.start", "arange.start_step"):
        return arange if all(_whole(literals.get(n)) for n in ("start", "end", "step")) else None
    if is_half and (
        name == "rsqrt"
        or has_numbers
        or literals.get("alpha", 1) != 1
        or (name.endswith(".Scalar") and "other" in literals)
    ):
        return None
    kernel = KERNELS.get(name)
    return None if is_complex and kernel in _ARITHMETIC else kernel
