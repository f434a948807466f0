"""Draws from distributions with parameters."""

from __future__ import annotations

import functools

import numpy as np

from et_ops.inference.creation import drawn_for_both, like, multinomial, normal, normal_of_deviations
from et_ops.inference.pointwise import same_as_self
from et_schema.scalar_type import ScalarType
from et_vm.kernels.portable.arguments import FLOAT, broadcast, check_kinds, check_out_type
from et_vm.kernels.portable.creation.random import Draw, drawn
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.portable.inference import inferred
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array, Tensor


def _of_floats(ctx: PrepareContext, out: Tensor, draw: Draw) -> Step:
    check_kinds(ctx, out.scalar_type, (FLOAT,), arg="out")
    return drawn(out, draw)


def _normal_with(ctx: PrepareContext, mean: Tensor | float, std: Tensor | float, out: Tensor) -> Step:
    for arg, value in (("mean", mean), ("std", std)):
        if isinstance(value, Tensor):
            check_kinds(ctx, value.scalar_type, (FLOAT,), arg=arg)
    if not isinstance(std, Tensor):
        ctx.check(std >= 0, arg="std", expected="a non-negative number", got=std)
    centre = mean.array if isinstance(mean, Tensor) else np.array(mean)
    spread = std.array if isinstance(std, Tensor) else np.array(std)
    return _of_floats(ctx, out, functools.partial(_scaled_normal, ctx, centre, spread))


def _scaled_normal(
    ctx: PrepareContext, mean: Array, std: Array, rng: np.random.Generator, shape: tuple[int, ...]
) -> Array:
    spread = std.astype(np.float64)
    if (spread < 0).any():
        raise ctx.trap(arg="std", expected="non-negative numbers", got=float(spread.min()))
    return rng.standard_normal(shape) * spread + mean.astype(np.float64)


@kernel("aten::normal.Tensor_float_out")
@inferred(like)
def normal_tensor_float_out(
    ctx: PrepareContext, mean: Tensor, std: float, generator: None, out: Tensor
) -> Step:
    """Normal with the means `mean`. Allocates the draw in float64."""
    return _normal_with(ctx, mean, std, out)


@kernel("aten::normal.float_Tensor_out")
@inferred(normal_of_deviations, check=check_out_type)
def normal_float_tensor_out(
    ctx: PrepareContext, mean: float, std: Tensor, generator: None, out: Tensor
) -> Step:
    """Normal with the standard deviations `std`. Allocates the draw in float64."""
    return _normal_with(ctx, mean, std, out)


@kernel("aten::normal.Tensor_Tensor_out")
@inferred(drawn_for_both, check=check_out_type)
def normal_tensor_tensor_out(
    ctx: PrepareContext, mean: Tensor, std: Tensor, generator: None, out: Tensor
) -> Step:
    """Normal with the means and standard deviations of two tensors, broadcast. Allocates the draw in float64."""
    return _normal_with(ctx, mean, std, out)


@kernel("aten::normal.float_float_out")
@inferred(normal)
def normal_float_float_out(
    ctx: PrepareContext, mean: float, std: float, size: list[int], generator: None, out: Tensor
) -> Step:
    """Normal, of shape `size`. Allocates the draw in float64."""
    return _normal_with(ctx, mean, std, out)


@kernel("aten::normal.out")
@inferred(like)
def normal_out(
    ctx: PrepareContext, self: Tensor, mean: float, std: float, generator: None, out: Tensor
) -> Step:
    """Normal, in the shape of `self`. Allocates the draw in float64."""
    return _normal_with(ctx, mean, std, out)


@kernel("aten::uniform.out")
@inferred(like)
def uniform_out(
    ctx: PrepareContext, self: Tensor, from_: float, to: float, generator: None, out: Tensor
) -> Step:
    """Uniform in [`from_`, `to`), in the shape of `self`. Allocates the draw in float32 or float64."""
    ctx.check(from_ <= to, arg="to", expected=f"a number not below {from_}", got=to)
    precision = np.float64 if out.scalar_type == ScalarType.DOUBLE else np.float32

    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        return rng.random(shape, precision) * precision(to - from_) + precision(from_)

    return _of_floats(ctx, out, draw)


@kernel("aten::exponential.out")
@inferred(like)
def exponential_out(ctx: PrepareContext, self: Tensor, lambd: float, generator: None, out: Tensor) -> Step:
    """Exponential with rate `lambd`, in the shape of `self`. Allocates the draw in float64."""
    ctx.check(lambd > 0, arg="lambd", expected="a positive rate", got=lambd)
    return _of_floats(ctx, out, lambda rng, shape: rng.exponential(1 / lambd, shape))


@kernel("aten::geometric.out")
@inferred(like)
def geometric_out(ctx: PrepareContext, self: Tensor, p: float, generator: None, out: Tensor) -> Step:
    """The number of trials up to the first success of probability `p`. Allocates the draw as int64."""
    ctx.check(0 < p < 1, arg="p", expected="a probability in (0, 1)", got=p)
    return drawn(out, lambda rng, shape: rng.geometric(p, shape))


@kernel("aten::cauchy.out")
@inferred(like)
def cauchy_out(
    ctx: PrepareContext, self: Tensor, median: float, sigma: float, generator: None, out: Tensor
) -> Step:
    """Cauchy, in the shape of `self`. Allocates the draw in float64."""
    ctx.check(sigma > 0, arg="sigma", expected="a positive number", got=sigma)
    return _of_floats(ctx, out, lambda rng, shape: rng.standard_cauchy(shape) * sigma + median)


@kernel("aten::log_normal.out")
@inferred(like)
def log_normal_out(
    ctx: PrepareContext, self: Tensor, mean: float, std: float, generator: None, out: Tensor
) -> Step:
    """Samples with a normal logarithm, in the shape of `self`. Allocates the draw in float64."""
    ctx.check(std > 0, arg="std", expected="a positive number", got=std)
    return _of_floats(ctx, out, lambda rng, shape: rng.lognormal(mean, std, shape))


def _checked_probabilities(ctx: PrepareContext, array: Array, arg: str) -> Array:
    chances = array.astype(np.float64)
    if not ((chances >= 0) & (chances <= 1)).all():
        raise ctx.trap(arg=arg, expected="probabilities in [0, 1]", got=float(chances.max()))
    return chances


def _trials(
    ctx: PrepareContext, chances: Array, arg: str, rng: np.random.Generator, shape: tuple[int, ...]
) -> Array:
    return rng.random(shape) < _checked_probabilities(ctx, chances, arg)


@kernel("aten::bernoulli.out")
@inferred(like, kinds=(FLOAT,))
def bernoulli_out(ctx: PrepareContext, self: Tensor, generator: None, out: Tensor) -> Step:
    """One with the probability in `self`, else zero. Allocates the draw."""
    return drawn(out, functools.partial(_trials, ctx, self.array, "self"))


@kernel("aten::bernoulli.Tensor_out")
@inferred(like)
def bernoulli_tensor_out(ctx: PrepareContext, self: Tensor, p: Tensor, generator: None, out: Tensor) -> Step:
    """One with the probability in `p`, broadcast to the shape of `self`, else zero. Allocates the draw."""
    check_kinds(ctx, p.scalar_type, (FLOAT,), arg="p")
    good = broadcast(ctx, self, p) == self.sizes
    ctx.check(good, arg="p", expected=f"a shape that broadcasts to {list(self.sizes)}", got=list(p.sizes))
    return drawn(out, functools.partial(_trials, ctx, p.array, "p"))


@kernel("aten::bernoulli.float_out")
@inferred(like)
def bernoulli_float_out(ctx: PrepareContext, self: Tensor, p: float, generator: None, out: Tensor) -> Step:
    """One with probability `p`, else zero, in the shape of `self`. Allocates the draw."""
    ctx.check(0 <= p <= 1, arg="p", expected="a probability in [0, 1]", got=p)
    return drawn(out, lambda rng, shape: rng.random(shape) < p)


@kernel("aten::multinomial.out")
@inferred(multinomial, kinds=(FLOAT,))
def multinomial_out(
    ctx: PrepareContext, self: Tensor, num_samples: int, replacement: bool, generator: None, out: Tensor
) -> Step:
    """Indices into each row of weights, ([M,] N) to ([M,] `num_samples`), with or without replacement.
    Allocates a random number for each weight, or for each sample.
    """
    return drawn(out, functools.partial(_chosen, ctx, self.array, replacement))


def _chosen(
    ctx: PrepareContext, array: Array, replacement: bool, rng: np.random.Generator, shape: tuple[int, ...]
) -> Array:
    weights: Array = array.astype(np.float64)
    sums = weights.sum(-1, keepdims=True)
    if not (np.isfinite(sums).all() and (weights >= 0).all() and (sums > 0).all()):
        raise ctx.trap(
            arg="self",
            expected="weights that are finite, not negative, and not all zero",
            got="weights that are not",
        )
    if replacement:
        bounds = np.cumsum(weights, -1)
        marks = rng.random(shape) * bounds[..., -1:]
        chosen = (bounds[..., None, :] <= marks[..., :, None]).sum(-1)
        # The sum may be rounded to above the last bound that has a weight.
        last = weights.shape[-1] - 1 - np.argmax(weights[..., ::-1] > 0, -1)
        return np.minimum(chosen, last[..., None])
    # The largest of w / Exp(1) are a weighted choice without replacement (Efraimidis and Spirakis 2006).
    keys: Array = np.empty_like(weights)
    rng.standard_exponential(out=keys)
    np.divide(weights, keys, keys)
    return np.argsort(-keys, axis=-1, kind="stable")[..., : shape[-1]]


# The draw is an int64, which is some standard deviations more.
_LARGEST_RATE = 9.2e18


@kernel("aten::poisson.out")
@inferred(same_as_self, kinds=(FLOAT,))
def poisson_out(ctx: PrepareContext, self: Tensor, generator: None, out: Tensor) -> Step:
    """Poisson with the rates in `self`. Allocates the draw as int64."""
    return drawn(out, functools.partial(_events, ctx, self.array))


def _events(ctx: PrepareContext, rates: Array, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    if not (rates >= 0).all():
        raise ctx.trap(arg="self", expected="non-negative rates", got=float(rates.min()))
    if not (rates <= _LARGEST_RATE).all():
        raise ctx.trap(arg="self", expected=f"rates of at most {_LARGEST_RATE}", got=float(rates.max()))
    return rng.poisson(rates.astype(np.float64), shape)


@kernel("aten::binomial.out")
@inferred(drawn_for_both, kinds=(FLOAT,))
def binomial_out(ctx: PrepareContext, count: Tensor, prob: Tensor, generator: None, out: Tensor) -> Step:
    """The successes among `count` trials of probability `prob`, broadcast. Allocates the draw as int64."""
    check_kinds(ctx, prob.scalar_type, (FLOAT,), arg="prob")
    return drawn(out, functools.partial(_successes, ctx, count.array, prob.array))


def _successes(
    ctx: PrepareContext, count: Array, prob: Array, rng: np.random.Generator, shape: tuple[int, ...]
) -> Array:
    if not (count >= 0).all():
        raise ctx.trap(arg="count", expected="non-negative counts", got=float(count.min()))
    if not (count < 2.0**63).all():
        raise ctx.trap(arg="count", expected="counts below 2**63", got=float(count.max()))
    return rng.binomial(count.astype(np.int64), _checked_probabilities(ctx, prob, "prob"), shape)


@kernel("aten::_standard_gamma.out")
@inferred(same_as_self, kinds=(FLOAT,))
def standard_gamma_out(ctx: PrepareContext, self: Tensor, generator: None, out: Tensor) -> Step:
    """Gamma of scale 1 with the shapes in `self`. Allocates the draw in float64."""
    return drawn(out, functools.partial(_gammas, ctx, self.array))


def _gammas(ctx: PrepareContext, shapes: Array, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    if not (shapes >= 0).all():
        raise ctx.trap(arg="self", expected="non-negative numbers", got=float(shapes.min()))
    return rng.standard_gamma(shapes.astype(np.float64), shape)
