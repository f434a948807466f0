"""Kernels of pointwise operations, reductions and normalizations."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from et_backends.coreml.format.mil_operations import BINARY, COMPARISONS, UNARY
from et_backends.coreml.runtime.sites import Maker, Prepared, Site, broadcast, reduced
from et_vm.kernels.array_formulas import ArrayBuilder
from et_vm.values import Array

__all__ = ["MAKERS"]

_INDEX: Final = 8
"""Bytes of an index."""

_CASTS: Final = {"bool": np.bool_, "fp16": np.float16, "fp32": np.float32, "int32": np.int32}


def _wide(function: Callable[..., Any], *arrays: Array) -> Array:
    """A function of floats that half precision computes in float32."""
    dtype = arrays[0].dtype
    if dtype != np.float16:
        return np.asarray(function(*arrays))
    return np.asarray(function(*(one.astype(np.float32) for one in arrays))).astype(dtype)


_ARRAYS: Final = 3
"""Temporaries of a function of one operand, at most."""
_PASSES: Final = 20
"""Visits of elements that a function takes as long as, at most."""


def _elementwise(site: Site, *parameters: str, arrays: int = _ARRAYS, passes: int = _PASSES) -> None:
    """Check the sizes of a result like operands together, and count its temporaries."""
    site.expect(broadcast(*map(site.shape, parameters)))
    site.takes(arrays, passes)


def _unary(function: Callable[[Array], Any]) -> Maker:
    def make(site: Site) -> Prepared:
        _elementwise(site, "x")
        return site.unary(lambda x: _wide(function, x))

    return make


def _binary(function: Callable[[Array, Array], Any]) -> Maker:
    def make(site: Site) -> Prepared:
        _elementwise(site, "x", "y", arrays=0)
        return site.binary(function)

    return make


def _with(function: Callable[..., Any], **defaults: float) -> Maker:
    """A function of an operand and of constant numbers, each with its default."""

    def make(site: Site) -> Prepared:
        numbers = [site.number(name, default) for name, default in defaults.items()]
        _elementwise(site, "x")

        def kernel(x: Array) -> Array:
            return function(x, *numbers)

        return site.unary(partial(_wide, kernel))

    return make


def _by_formula(operator: str, *arguments: Any) -> Callable[..., Array]:
    """An operator of the library, of operands and of numbers, with further arguments behind these."""

    def kernel(*given: Array | float) -> Array:
        return ArrayBuilder().operator(operator, *given, *arguments)

    return kernel


def _log(x: Array, epsilon: float) -> Array:
    return np.log(x + epsilon)


def _inverse(x: Array, epsilon: float) -> Array:
    return 1 / (x + epsilon)


def _rsqrt(x: Array, epsilon: float) -> Array:
    return 1 / np.sqrt(x + epsilon)


def _thresholded_relu(x: Array, alpha: float) -> Array:
    return np.where(x >= alpha, x, np.float32(0))


def _sigmoid_hard(x: Array, alpha: float, beta: float) -> Array:
    return np.clip(x * alpha + beta, np.float32(0), np.float32(1))


def _gelu(site: Site) -> Prepared:
    mode = site.text("mode", "EXACT")
    names = {"EXACT": "none", "TANH_APPROXIMATION": "tanh"}
    if mode not in names:
        raise ValueError(f"the mode {mode!r} is not supported")
    _elementwise(site, "x", arrays=7, passes=60)
    return site.unary(partial(_wide, _by_formula("gelu", names[mode])))


def _cast(site: Site) -> Prepared:
    name = site.text("dtype")
    if name not in _CASTS:
        raise ValueError(f"the dtype {name!r} is not supported")
    dtype = _CASTS[name]
    _elementwise(site, "x", arrays=1)
    return site.unary(lambda x: x.astype(dtype))


def _select(site: Site) -> Prepared:
    _elementwise(site, "cond", "a", "b", arrays=0)
    return site.prepare(np.where, "cond", "a", "b")


def _reduction(function: Callable[..., Any]) -> Maker:
    def make(site: Site) -> Prepared:
        axes, keeps = site.axes(), bool(site.number("keep_dims", 0.0))
        site.expect(reduced(site.shape("x"), axes, keeps=keeps))
        # What numpy has in another order or type, and functions of the elements.
        site.copies("x", arrays=_ARRAYS)
        return site.unary(partial(_wide, partial(function, axis=axes, keepdims=keeps)))

    return make


def _log_sum_exp(x: Array, axis: Any, keepdims: bool) -> Array:
    top = np.max(x, axis=axis, keepdims=True)
    made = np.log(np.sum(np.exp(x - top), axis=axis, keepdims=True)) + top
    return made if keepdims else np.squeeze(made, axis)


def _product(x: Array, axis: tuple[int, ...], keepdims: bool) -> Array:
    return np.prod(x, axis=axis, keepdims=keepdims, dtype=x.dtype)


def _sum(x: Array, axis: tuple[int, ...], keepdims: bool) -> Array:
    return np.sum(x, axis=axis, keepdims=keepdims, dtype=x.dtype)


def _place(function: Callable[..., Any]) -> Maker:
    def make(site: Site) -> Prepared:
        axis, keeps = site.axis(default=-1), bool(site.number("keep_dims", 0.0))
        site.expect(reduced(site.shape("x"), (axis,), keeps=keeps))
        site.copies("x")
        site.needs.memory(site.elements, _INDEX)
        return site.unary(lambda x: function(x, axis=axis, keepdims=keeps).astype(np.int32))

    return make


def _softmax(site: Site) -> Prepared:
    axis = site.axis(default=-1)
    _elementwise(site, "x")

    def kernel(x: Array) -> Array:
        made = np.exp(x - np.max(x, axis=axis, keepdims=True))
        made /= np.sum(made, axis=axis, keepdims=True)
        return made

    return site.unary(lambda x: _wide(kernel, x))


def _cumsum(site: Site) -> Prepared:
    axis = site.axis(default=0)
    if site.number("exclusive", 0.0) or site.number("reverse", 0.0):
        raise ValueError("exclusive or reverse sums are not supported")
    _elementwise(site, "x", arrays=1)

    def kernel(x: Array) -> Array:
        return np.cumsum(x, axis, dtype=x.dtype)

    return site.unary(partial(_wide, kernel))


def _layer_norm(site: Site) -> Prepared:
    axes, eps = site.axes(), np.float32(site.number("epsilon", 1e-5))
    with_gamma, with_beta = site.has("gamma"), site.has("beta")
    _elementwise(site, "x", *filter(site.has, ("gamma", "beta")))

    def kernel(x: Array, *weights: Array) -> Array:
        made = x - np.mean(x, axis=axes, keepdims=True)
        made /= np.sqrt(np.mean(np.square(made), axis=axes, keepdims=True) + eps)
        if with_gamma:
            made = made * weights[0]
        return made + weights[-1] if with_beta else made

    return site.prepare(partial(_wide, kernel), "x", "gamma", "beta")


def _batch_norm(site: Site) -> Prepared:
    eps = np.float32(site.number("epsilon", 1e-5))
    sizes = (1, -1, *[1] * (len(site.shape("x")) - 2))
    with_gamma, with_beta = site.has("gamma"), site.has("beta")
    if len(site.shape("x")) < 2:
        raise ValueError("an operand without channels")
    _elementwise(site, "x")
    for one in filter(site.has, ("mean", "variance", "gamma", "beta")):
        if site.elements_of(one) not in (1, *site.shape("x")[1:2]):
            raise ValueError(f"{one} has the sizes {list(site.shape(one))}")
        # As wide as the operand.
        site.needs.memory(site.elements_of(one), site.wide, 2)

    def kernel(x: Array, *weights: Array) -> Array:
        mean, variance, *affine = (one.reshape(sizes) for one in weights)
        made = (x - mean) / np.sqrt(variance + eps)
        if with_gamma:
            made = made * affine[0]
        return made + affine[-1] if with_beta else made

    return site.prepare(partial(_wide, kernel), "x", "mean", "variance", "gamma", "beta")


def _identity(site: Site) -> Prepared:
    _elementwise(site, "x", arrays=0)
    return site.unary(np.array)


def _logical_not(site: Site) -> Prepared:
    _elementwise(site, "x", arrays=0)
    return site.unary(np.logical_not)


def _floor_div(x: Array, y: Array) -> Array:
    return np.floor_divide(x, y)


MAKERS: Final[dict[str, Maker]] = {
    **{name: _unary(_by_formula(name)) for name in UNARY},
    **{
        operation: _binary(_by_formula(operator)) for operator, operation in {**BINARY, **COMPARISONS}.items()
    },
    **{f"logical_{name}": _binary(getattr(np, f"logical_{name}")) for name in ("and", "or", "xor")},
    "floor_div": _binary(_floor_div),
    "cast": _cast,
    "clip": _with(np.clip, alpha=-np.inf, beta=np.inf),
    "elu": _with(_by_formula("elu", 1.0, 1.0), alpha=1.0),
    "gelu": _gelu,
    "identity": _identity,
    "leaky_relu": _with(_by_formula("leaky_relu"), alpha=0.01),
    "log": _with(_log, epsilon=1e-45),
    "inverse": _with(_inverse, epsilon=1e-4),
    "logical_not": _logical_not,
    "relu6": _unary(_by_formula("hardtanh", 0.0, 6.0)),
    "rsqrt": _with(_rsqrt, epsilon=1e-12),
    "select": _select,
    "thresholded_relu": _with(_thresholded_relu, alpha=1.0),
    "sigmoid_hard": _with(_sigmoid_hard, alpha=0.2, beta=0.5),
    "reduce_argmax": _place(np.argmax),
    "reduce_argmin": _place(np.argmin),
    "reduce_log_sum_exp": _reduction(_log_sum_exp),
    "reduce_max": _reduction(np.max),
    "reduce_mean": _reduction(np.mean),
    "reduce_min": _reduction(np.min),
    "reduce_prod": _reduction(_product),
    "reduce_sum": _reduction(_sum),
    "softmax": _softmax,
    "cumsum": _cumsum,
    "layer_norm": _layer_norm,
    "batch_norm": _batch_norm,
}
