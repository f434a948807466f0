"""Accuracy of floating-point results: an error model, and true values in double precision.

The reference is the same computation in f64, never torch's f32 result: that one changes with the instruction
set, the library and the number of threads, since they decide the order of each sum.

A sum of `n` terms in a type of unit roundoff `u` has `n` roundings of partial sums, each of relative size at
most `u`, and rms at most `u / sqrt(3)`. If they are independent of mean zero (Higham and Mary, "A new approach
to probabilistic rounding error analysis", 2019) and the order of the terms is random, the partial sum of `k`
terms has a mean square of at most `(k / n)² s² + (k / n)(1 - k / n) q`, where `s` is the sum of the terms and
`q` that of their squares. So the rms error is at most

    sqrt(n / 3) u sqrt(s² / 3 + q / 6) = sqrt(n) u S / 3    with S² = s² + q / 2

and the bound, `2 sqrt(n) u S`, is six standard deviations, which one error in 10^8 exceeds. Other orders, by
blocks or by vectors, have smaller partial sums. `S` is taken to be the largest true value of a result. A test
of a result with few elements, whose terms may cancel in all of them, passes a scale. Roundings of a chain of
operations are counted together.

A result computed in f16 is off by about `2^-11 S / 4`, and one that lacks a term by `S / (4 sqrt(n))`: both
exceed the bound of f32 unless sums have some 10^5 terms.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

LAMBDA = 2.0
"""Six standard deviations of the model."""

ELEMENTARY = 16
"""Roundings of an elementary function: an error of four units of the last place."""

_DOUBLE = {
    torch.float16: torch.float64,
    torch.bfloat16: torch.float64,
    torch.float32: torch.float64,
    torch.complex64: torch.complex128,
}

_A = torch.ops.aten


class Truth(NamedTuple):
    """Results in double precision."""

    values: tuple[Any, ...]
    """Tensors of f64, complex128, integers or bool, and numbers."""
    terms: int
    """Roundings on the way to an element, those of each sum being its terms."""


def error_bound(terms: int, dtype: torch.dtype, scale: float | torch.Tensor = 1.0) -> Any:
    """The largest error of a result of `dtype` that `terms` roundings of numbers as large as `scale` explain."""
    assert terms > 0
    info = torch.finfo(dtype)
    # Half the distance from one to the next number. Below the normal numbers, errors no longer shrink with them.
    return LAMBDA * math.sqrt(terms) * (info.eps / 2) * scale + terms * info.smallest_normal * info.eps


def assert_accurate(
    found: Any,
    truth: Truth | Any,
    terms: int | None = None,
    *,
    dtype: torch.dtype | None = None,
    scale: float | torch.Tensor | None = None,
    what: object = "",
) -> None:
    """Each of the results is within the model's error of the truth; AssertionError otherwise.

    `found` and `truth` are a tensor, an array, a number, or a sequence of these. By default `terms` is that of a
    `Truth`, `dtype` the type of each result (pass bf16 for a wider result computed in it), and `scale` its largest
    true value; a tensor gives that of each element.
    NaN and infinities, with what the type of the result rounds to infinity, are in the same places. Integers, truth
    values and their types are equal.
    """
    if isinstance(truth, Truth):
        terms = truth.terms if terms is None else terms
        truth = truth.values
    ours, true = _sequence(found), _sequence(truth)
    assert len(ours) == len(true), f"{what}: {len(ours)} results, expected {len(true)}"
    for at, (one, other) in enumerate(zip(ours, true, strict=True)):
        fault = _fault(_tensor(one), _tensor(other), terms, dtype, scale)
        assert fault is None, f"{what or 'result'} {at}: {fault}"


def largest(values: torch.Tensor) -> float:
    """The largest absolute value of those that are finite, 0 of none."""
    finite = values[values.isfinite()]
    return float(finite.abs().max()) if finite.numel() else 0.0


def _tensor(value: Any) -> torch.Tensor:
    # Torch warns of arrays that it cannot write to.
    return torch.as_tensor(np.array(value) if isinstance(value, np.ndarray) else value)


def _sequence(values: Any) -> list[Any]:
    return list(values) if isinstance(values, list | tuple) else [values]


def _fault(
    found: torch.Tensor,
    true: torch.Tensor,
    terms: int | None,
    dtype: torch.dtype | None,
    scale: float | torch.Tensor | None,
) -> str | None:
    found, true = found.detach(), true.detach()
    if found.shape != true.shape:
        return f"shape {list(found.shape)}, expected {list(true.shape)}"
    is_real = found.is_floating_point()
    if is_real != true.is_floating_point() or found.is_complex() != true.is_complex():
        return f"type {found.dtype}, the true values have {true.dtype}"
    if found.is_complex():
        part = found.real.dtype if dtype is None else dtype
        return _fault(torch.view_as_real(found), torch.view_as_real(true), terms, part, scale)
    if not is_real:
        if found.dtype != true.dtype:
            return f"type {found.dtype}, expected {true.dtype}"
        return None if torch.equal(found, true) else _first(found, true, found != true)
    assert true.dtype == torch.float64, f"the true values are {true.dtype}"
    assert terms is not None, "a bound needs the number of terms"
    rounded = true.to(found.dtype).double()
    is_finite = rounded.isfinite()
    if scale is None:
        scale = largest(torch.where(is_finite, true, 0))
    bound = error_bound(terms, found.dtype if dtype is None else dtype, scale)
    close = (found.double() - true).abs() <= bound
    same = (found.double() == rounded) | (found.isnan() & rounded.isnan())
    wrong = ~torch.where(is_finite, close, same)
    if not wrong.any():
        return None
    first = torch.as_tensor(bound).expand(found.shape)[wrong][0]
    return _first(found, true, wrong) + f", the bound is {float(first):.3g}"


def _first(found: torch.Tensor, true: torch.Tensor, wrong: torch.Tensor) -> str:
    count, place = int(wrong.sum()), tuple(wrong.nonzero()[0].tolist())
    apart = (found.double() - true.double()).abs()[wrong].max()
    return (
        f"{count} of {wrong.numel()} elements are wrong by up to {float(apart):.3g}, the first at {list(place)}: "
        f"{found[place].item()!r}, expected {true[place].item()!r}"
    )


def in_double(function: Callable[..., Any], *inputs: Any, **named: Any) -> Truth:
    """What a function or a copy of a module computes in f64, with its parameters and inputs in f64.

    So are floating-point tensors that it holds otherwise, and types that it names: `x.float()` is `x.double()` there.
    What depends on the bits of a narrower type, as a view as integers, cannot be had so.
    """
    if isinstance(function, nn.Module):
        function = copy.deepcopy(function).double()
    arguments, keywords = pytree.tree_map_only(
        torch.Tensor, lambda tensor: _widened(tensor).clone(), (inputs, named)
    )
    count = _Terms()
    with torch.no_grad(), _Widened(), count:
        results = pytree.tree_leaves(function(*arguments, **keywords))
    return Truth(
        tuple(_widened(one) if isinstance(one, torch.Tensor) else one for one in results),
        ELEMENTARY + count.terms,
    )


def truth_of(function: Callable[..., Any], *inputs: Any, **named: Any) -> Truth:
    """As `in_double`, with NaN and infinities where the call with its own types has them, whose range is smaller."""
    truth = in_double(function, *inputs, **named)
    if isinstance(function, nn.Module):
        function = copy.deepcopy(function)
    arguments, keywords = pytree.tree_map_only(torch.Tensor, torch.clone, (inputs, named))
    with torch.no_grad():
        eager = pytree.tree_leaves(function(*arguments, **keywords))
    values = [
        torch.where(one.isfinite(), true, one.to(true.dtype)) if isinstance(true, torch.Tensor) else true
        for true, one in zip(truth.values, eager, strict=True)
    ]
    return Truth(tuple(values), truth.terms)


def _widened(value: Any) -> Any:
    return value.to(_DOUBLE[value.dtype]) if value.dtype in _DOUBLE else value


class _Widened(TorchFunctionMode):
    """Calls of torch with f64 for narrower types, of tensors and as arguments."""

    def __torch_function__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func in (torch.Tensor.float, torch.Tensor.half, torch.Tensor.bfloat16):
            return args[0].double()
        args, kwargs = pytree.tree_map_only(torch.Tensor, _widened, (args, kwargs or {}))
        args, kwargs = pytree.tree_map_only(torch.dtype, lambda one: _DOUBLE.get(one, one), (args, kwargs))
        found = func(*args, **kwargs)
        # New tensors of the default type.
        return _widened(found) if isinstance(found, torch.Tensor) else found


class _Terms(TorchDispatchMode):
    """Counts the roundings on the way to an element: one for each operation, and the terms of a sum."""

    def __init__(self) -> None:
        super().__init__()
        self.terms = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        found = func(*args, **(kwargs or {}))
        first = pytree.tree_leaves(found)[:1]
        if (
            first
            and isinstance(first[0], torch.Tensor)
            and first[0].dtype in (torch.float64, torch.complex128)
        ):
            self.terms += 0 if func.is_view else _length(func, args, kwargs or {}, found)
        return found


def _length(func: Any, args: Sequence[Any], kwargs: dict[str, Any], found: Any) -> int:
    """Terms of the sum that an element of the result is."""
    packet = func.overloadpacket
    result = pytree.tree_leaves(found)[0]
    operands = [leaf for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
    largest = max((one.numel() for one in operands), default=0)
    count = max(result.numel(), 1)
    if packet is _A.convolution:
        weight, strides, is_transposed, groups = args[1], args[3], args[6], args[8]
        taps = math.prod(weight.shape[2:])
        if is_transposed:
            return weight.shape[0] // groups * math.ceil(taps / math.prod(strides))
        return weight.shape[1] * taps
    if packet in flop_registry:
        return max(flop_registry[packet](*args, **kwargs, out_val=found) // (2 * count), 1)
    if packet is _A._scaled_dot_product_flash_attention_for_cpu:
        # Products with keys, the sum of the weights, products with values.
        return args[0].shape[-1] + 2 * args[1].shape[-2]
    if packet in _ALONG:
        return operands[0].shape[args[1]] if operands[0].dim() else 1
    if packet is _A.native_layer_norm:
        return math.prod(args[1])
    if packet is _A.native_group_norm:
        return largest // (result.shape[0] * args[6])
    if packet in _SUMS or torch.Tag.reduction in func.tags:
        return max(largest // count, 1)
    if packet in _WINDOWS:
        return math.prod(args[1])
    return 1


_ALONG = {_A._softmax, _A._log_softmax, _A.cumsum, _A.cumprod, _A.logcumsumexp}
_SUMS = {_A.mv, _A.addmv, _A.dot, _A.vdot, _A.trace, _A._adaptive_avg_pool2d, _A._adaptive_avg_pool3d}
_WINDOWS = {_A.avg_pool2d, _A.avg_pool3d}
