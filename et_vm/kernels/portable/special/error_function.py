"""The error function as chains of numpy calls.

float32: erf(x) = tanh(x * g(x^2)) with g a polynomial, fitted so that the error of tanh's argument, weighed
by tanh's slope, is level over [0, 4]; a little beyond, its tanh is 1. Maximum error against float64:
1.3e-7, most of it numpy's own tanh.

float64: a polynomial in x^2 below 1; above, 1 - exp(-x^2) * erfcx(x), where (x + 3) * erfcx(x) is a
Chebyshev-fitted polynomial of (x - 3) / (x + 3), the substitution of Shepherd and Laframboise, "Chebyshev
Approximation of (1 + 2x) exp(x^2) erfc x" (1981). Maximum error 3e-16.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from et_vm.kernels.portable.steps import call, filled
from et_vm.step import Step
from et_vm.values import Array, DType

_SINGLE = (
    1.1283791783864239,
    0.10277216523241776,
    -0.00020665396679878968,
    -0.0005953080287285845,
    6.932157571329877e-05,
    1.326066708723593e-06,
    -1.288805890279829e-06,
    1.5612587230563378e-07,
    -8.466100636135698e-09,
    1.786430768074599e-10,
)
_SINGLE_END = 4.3

DOUBLE_BELOW_1 = (
    1.1283791670955126,
    -0.3761263890318375,
    0.11283791670954879,
    -0.026866170645076792,
    0.0052239776248180145,
    -0.000854832698083379,
    0.0001205533111164271,
    -1.4925595266831182e-05,
    1.6461000484121368e-06,
    -1.6350312701054695e-07,
    1.4659775274047436e-08,
    -1.1372848856791674e-09,
    5.957176147748911e-11,
)
DOUBLE_ABOVE_1 = (
    1.1519074596928367,
    -0.41188209621002847,
    0.11683673753802092,
    -0.02547407280005636,
    0.003933868783795967,
    -0.0003235437870562923,
    -1.6087764735353012e-05,
    7.246250993779339e-06,
    -2.8199394431314153e-07,
    -1.3352050599552664e-07,
    1.144955465138352e-08,
    2.929897441311555e-09,
    -2.9733808358351237e-10,
    -7.243567867179394e-11,
    5.846046243884681e-12,
)
DOUBLE_CENTRE = 3.0
DOUBLE_END = 6.0


def temporaries_of_erf(dtype: DType) -> list[DType]:
    """The dtypes of the temporaries that `erf` takes for `dtype`."""
    return [dtype, dtype] if dtype == np.float32 else [dtype, dtype, dtype, np.dtype(np.bool_)]


def polynomial(x: Array, coefficients: Sequence[float], out: Array) -> list[Step]:
    """Horner's scheme into `out`, which must not overlap `x`; the lowest coefficient first."""
    terms = [filled(out.dtype, value) for value in coefficients]
    calls = [call(np.multiply, x, terms[-1], out)]
    for term in terms[-2:0:-1]:
        calls += [call(np.add, out, term, out), call(np.multiply, out, x, out)]
    return [*calls, call(np.add, out, terms[0], out)]


def erf(x: Array, out: Array, temporaries: Sequence[Array]) -> list[Step]:
    """Calls that compute erf(`x`) into `out`, another array of the same float32 or float64 type."""
    return _erf_single(x, out, temporaries) if x.dtype == np.float32 else _erf_double(x, out, temporaries)


def _erf_single(x: Array, out: Array, temporaries: Sequence[Array]) -> list[Step]:
    clipped, square = temporaries
    low, high = filled(x.dtype, -_SINGLE_END), filled(x.dtype, _SINGLE_END)
    return [
        (x.clip, (low, high, clipped)),
        call(np.multiply, clipped, clipped, square),
        *polynomial(square, _SINGLE, out),
        call(np.multiply, out, clipped, out),
        call(np.tanh, out, out),
    ]


def _erf_double(x: Array, out: Array, temporaries: Sequence[Array]) -> list[Step]:
    size, work, near, inside = temporaries
    dtype = x.dtype
    one, centre = filled(dtype, 1.0), filled(dtype, DOUBLE_CENTRE)
    low = (1.0 - DOUBLE_CENTRE) / (1.0 + DOUBLE_CENTRE)
    high = (DOUBLE_END - DOUBLE_CENTRE) / (DOUBLE_END + DOUBLE_CENTRE)
    slope, shift = filled(dtype, 2.0 / (high - low)), filled(dtype, -1.0 - 2.0 * low / (high - low))
    return [
        call(np.absolute, x, size),
        # `not >= 1` rather than `< 1`: a NaN takes the branch that keeps it.
        call(np.greater_equal, size, one, inside),
        call(np.logical_not, inside, inside),
        (size.clip, (one, filled(dtype, DOUBLE_END), size)),
        call(np.subtract, size, centre, work),
        call(np.add, size, centre, near),
        call(np.divide, work, near, work),
        call(np.multiply, work, slope, work),
        call(np.add, work, shift, work),
        *polynomial(work, DOUBLE_ABOVE_1, out),
        call(np.divide, out, near, out),
        call(np.multiply, size, size, size),
        call(np.negative, size, size),
        call(np.exp, size, size),
        call(np.multiply, out, size, out),
        call(np.subtract, one, out, out),
        call(np.copysign, out, x, out),
        (x.clip, (filled(dtype, -1.0), one, near)),
        call(np.multiply, near, near, work),
        *polynomial(work, DOUBLE_BELOW_1, size),
        call(np.multiply, size, near, size),
        (np.copyto, (out, size, "unsafe", inside)),
    ]


def gelu(x: Array, out: Array, temporaries: Sequence[Array]) -> list[Step]:
    """Calls for x * (1 + erf(x / sqrt(2))) / 2, with one temporary more than `erf`."""
    scaled = temporaries[0]
    half = filled(x.dtype, 0.5)
    return [
        call(np.multiply, x, filled(x.dtype, 2.0**-0.5), scaled),
        *erf(scaled, out, temporaries[1:]),
        call(np.multiply, out, half, out),
        call(np.add, out, half, out),
        call(np.multiply, out, x, out),
    ]
