"""Elementary functions of the native backend: their errors over all of f32, against f64."""

from __future__ import annotations

from collections.abc import Callable
from math import erf

import numpy as np
import pytest
import torch
from native_modules import SETS, as_module, check, compiled, lowered, run, sets

from et_backends.native.compiler import NativePartitioner
from et_ir import to_edge_transform_and_lower

POINTS = 1 << 17


def points() -> np.ndarray:
    """Numbers of every sign and exponent, of small ranges, and those where functions change their course."""
    random = np.random.default_rng(0)
    bits = random.integers(0, 2**32, POINTS, dtype=np.uint64).astype(np.uint32).view(np.float32)
    near = [random.uniform(-top, top, POINTS // 8).astype(np.float32) for top in (1, 2, 10, 100)]
    near.append((1 + 2 ** random.uniform(-23, 1, POINTS // 2)).astype(np.float32))
    special = [0.0, np.inf, np.nan, 1.0, 0.5, 2.0, 1e-45, 1.17e-38, 3.4e38, np.pi / 2, np.pi, 3 * np.pi, 4.0]
    edges = [0.65, 0.875, 20.0, 86.6, 87.34, 88.72, 88.73, 89.4, 89.5, 103.9, 104.1, 1e30, 16367173 * 2.0**72]
    both = np.array([*special, *edges], np.float32)
    around = [np.nextafter(both, np.float32(side)) for side in (-np.inf, np.inf)]
    return np.concatenate([bits, *near, both, -both, *around, *(-one for one in around)])


def errors(found: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """In units in the last place of the f32 nearest to the exact value; infinite where only one is a NaN."""
    with np.errstate(over="ignore", invalid="ignore"):
        nearest = exact.astype(np.float32)
        same = (found == nearest) | (np.isnan(found) & np.isnan(nearest))
        unit = np.spacing(np.abs(np.where(np.isfinite(nearest), nearest, 1)).astype(np.float32))
        distance = np.abs(found.astype(np.float64) - exact) / unit
    distance[np.isnan(distance)] = np.inf
    return np.where(same, 0, distance)


FUNCTIONS: dict[str, tuple[Callable[[np.ndarray], np.ndarray], float]] = {
    "acos": (np.arccos, 1.5),
    "acosh": (np.arccosh, 2.0),
    "asin": (np.arcsin, 2.0),
    "asinh": (np.arcsinh, 2.0),
    "atan": (np.arctan, 1.5),
    "atanh": (np.arctanh, 2.0),
    "cos": (np.cos, 1.5),
    "cosh": (np.cosh, 1.5),
    "erf": (np.vectorize(erf, otypes=[np.float64]), 1.25),
    "exp": (np.exp, 1.0),
    "expm1": (np.expm1, 2.0),
    "log": (np.log, 1.0),
    "log10": (np.log10, 1.0),
    "log1p": (np.log1p, 1.0),
    "log2": (np.log2, 1.0),
    "sin": (np.sin, 1.5),
    "sinh": (np.sinh, 2.0),
    "tan": (np.tan, 1.0),
    "tanh": (np.tanh, 2.0),
}
"""The function in f64, and the most that the compiled one may differ, in units in the last place."""


def check_function(function: str, x: np.ndarray, found: np.ndarray, name: str) -> None:
    """Compare what the instruction set `name` gives with the function in f64, and the signs of zeros."""
    exactly, most = FUNCTIONS[function]
    with np.errstate(all="ignore"):
        exact = exactly(x.astype(np.float64))
    error = errors(found, exact)
    worst = int(error.argmax())
    assert error[worst] <= most, (function, name, x[worst], found[worst], exact[worst])
    zeros = (found == 0) & (exact == 0)
    np.testing.assert_array_equal(np.signbit(found[zeros]), np.signbit(exact[zeros]), name)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_error(function: str) -> None:
    x = points()
    argument = (torch.from_numpy(x),)
    program = torch.export.export(as_module(getattr(torch, function)), argument)
    for name in sets():
        check_function(function, x, run(lowered(program, name), argument), name)


def test_all_functions_in_one_program() -> None:
    """At one in a hundred of the points, with one of the instruction sets."""
    x = points()[::100].copy()
    argument = (torch.from_numpy(x),)
    program = torch.export.export(
        as_module(lambda one: torch.stack([getattr(torch, function)(one) for function in FUNCTIONS])),
        argument,
    )
    name, *_ = sets()
    found = run(lowered(program, name), argument).reshape(len(FUNCTIONS), -1)
    for function, values in zip(FUNCTIONS, found, strict=True):
        check_function(function, x, values, name)


@pytest.mark.parametrize("exponent", [2.5, -0.3, 7.0, -4.0, 1 / 3, 100.0])
def test_error_of_powers(exponent: float) -> None:
    x = points()
    with np.errstate(all="ignore"):
        exact = np.power(x.astype(np.float64), np.float64(np.float32(exponent)))
    argument = (torch.from_numpy(x),)
    program = torch.export.export(as_module(lambda one: one**exponent), argument)
    for name in sets():
        found = run(lowered(program, name), argument)
        error = errors(found, exact)
        worst = int(error.argmax())
        assert error[worst] <= 1, (name, x[worst], found[worst], exact[worst])


SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 2.5, -2.5]
SPECIAL += [float("inf"), -float("inf"), float("nan"), 1e-45, -3e38, 1.0000001]


@pytest.mark.parametrize("function", [torch.pow, torch.atan2, torch.maximum, torch.minimum])
def test_special_cases_of_two_operands(function: Callable[..., torch.Tensor]) -> None:
    x, y = torch.meshgrid(torch.tensor(SPECIAL), torch.tensor(SPECIAL), indexing="ij")
    x, y = x.contiguous(), y.contiguous()
    expected = function(x, y).numpy()
    program = torch.export.export(as_module(function), (x, y))
    for name in sets():
        found = run(lowered(program, name), (x, y))
        np.testing.assert_allclose(found, expected, rtol=3e-7, err_msg=name)
        # Which of two zeros is the larger is not said.
        if function in (torch.pow, torch.atan2):
            zeros = found == 0
            np.testing.assert_array_equal(np.signbit(found[zeros]), np.signbit(expected[zeros]))


F = torch.nn.functional
POINTWISE: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "celu": F.celu,
    "clamp": lambda x: x.clamp(-0.5, 1.0),
    "clamp-tensors": lambda x: x.clamp(x.abs() - 1, x.abs() + 1),
    "elu": lambda x: F.elu(x, 0.7),
    "exp2": torch.exp2,
    "gelu": F.gelu,
    "gelu-tanh": lambda x: F.gelu(x, approximate="tanh"),
    "hardswish": F.hardswish,
    "leaky-relu": lambda x: F.leaky_relu(x, 0.1),
    "logsigmoid": F.logsigmoid,
    "mish": F.mish,
    "nan-to-num": torch.nan_to_num,
    "powers": lambda x: x**2 + x**3 - x**-2 + x.abs() ** 0.5 + x.abs() ** -0.5 + 1 / x,
    "round": lambda x: (x * 3).round() + x.trunc() - x.floor() + x.ceil(),
    "rsub": lambda x: 3 - x,
    "selu": F.selu,
    "sign": torch.sign,
    "silu": F.silu,
    "softplus": F.softplus,
    "threshold": lambda x: F.threshold(x, 0.1, 2.0),
    "where": lambda x: torch.where(x <= 0.5, x * 2, 1.0),
    "where-twice": lambda x: torch.where(x > 0, x, 1.0) * torch.where(x > 0, 3.0, x).amax(-1, keepdim=True),
}


@pytest.mark.parametrize("function", POINTWISE)
def test_pointwise(function: str) -> None:
    torch.manual_seed(0)
    check(POINTWISE[function], torch.randn(5, 37) * 2)


@pytest.mark.parametrize(
    "function",
    [
        pytest.param(lambda x: x * 1e39 + 1, id="factor"),
        pytest.param(lambda x: x - 1e300, id="term"),
        pytest.param(lambda x: (x < 1e300) | (x > 1), id="bound"),
        pytest.param(lambda x: (x.abs() + 1) ** -1e39, id="exponent"),
    ],
)
def test_numbers_beyond_the_largest_float(function: Callable[..., torch.Tensor]) -> None:
    """They are infinite, as torch has them."""
    check(function, torch.linspace(-3, 3, 19))


@pytest.mark.parametrize(
    ("x", "low", "high", "expected"),
    [
        (torch.linspace(-3, 3, 19), None, 1e300, torch.linspace(-3, 3, 19)),
        (torch.linspace(-3, 3, 19), -1e39, 1e39, torch.linspace(-3, 3, 19)),
        (torch.arange(-9, 10, dtype=torch.int8), -128, 127, torch.arange(-9, 10, dtype=torch.int8)),
    ],
    ids=["above floats", "around floats", "the ends of bytes"],
)
def test_bounds_beyond_the_type(
    x: torch.Tensor, low: float | None, high: float, expected: torch.Tensor
) -> None:
    """Those of floats are infinite; torch exports programs with them, and refuses to run them."""
    file = compiled(as_module(lambda x: x.clamp(low, high)), (x,), SETS[0])
    np.testing.assert_array_equal(run(file, (x,)), expected.numpy())


def test_pointwise_after_a_product() -> None:
    torch.manual_seed(0)
    layer = torch.nn.Linear(9, 37)

    class Activated(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = layer

        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            product = self.layer(x)
            return torch.where(product > y, F.mish(product), F.gelu(product))

    check(Activated(), torch.randn(5, 9), torch.randn(5, 1))


def test_a_linear_layer_of_a_computed_matrix() -> None:
    torch.manual_seed(0)
    check(F.linear, torch.randn(2, 5, 7), torch.randn(39, 7), torch.randn(39))
    check(F.linear, torch.randn(5, 8), torch.randn(8, 8))


MASKS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "returned": lambda x: x > 0,
    "inverted": lambda x: torch.where(torch.logical_not(x > 0), x, 1.0),
    "broadcast": lambda x: torch.where(x[:, :1] > 0, x, 1.0),
}


@pytest.mark.parametrize("name", MASKS)
def test_masks(name: str) -> None:
    check(MASKS[name], torch.randn(3, 8), exact=True)


LEFT: dict[str, tuple[Callable[..., torch.Tensor], str]] = {
    "negative-base": (lambda x: (-2.0) ** x, "edge.pow.Scalar"),
}


@pytest.mark.parametrize("name", LEFT)
def test_left_to_other_kernels(name: str) -> None:
    function, operator = LEFT[name]
    program = torch.export.export(as_module(function), (torch.randn(3, 8),))
    edge = to_edge_transform_and_lower(program, partitioner=NativePartitioner(instruction_sets=SETS[:1]))
    assert operator in [op.name for op in edge.module.walk()]


def remainder_numbers() -> tuple[torch.Tensor, torch.Tensor]:
    """Pairs of numbers of all exponents, of near ones, and special ones."""
    random = np.random.default_rng(3)
    bits = random.integers(0, 2**32, (2, 1 << 14), dtype=np.uint64).astype(np.uint32).view(np.float32)
    near = random.uniform(-50, 50, (2, 1 << 14)).astype(np.float32)
    whole = random.integers(-50, 50, (2, 1 << 14)).astype(np.float32)
    special = np.array([(x, y) for x in SPECIAL for y in SPECIAL], np.float32).T
    x, y = np.concatenate([bits, near, whole, special], 1)
    return torch.from_numpy(x.copy()), torch.from_numpy(y.copy())


DIVISIONS: dict[str, Callable[..., torch.Tensor]] = {
    "floor": lambda x, y: torch.div(x, y, rounding_mode="floor"),
    "trunc": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
}


@pytest.mark.parametrize("name", DIVISIONS)
def test_divisions(name: str) -> None:
    check(DIVISIONS[name], *remainder_numbers(), exact=True)


@pytest.mark.parametrize("name", ["fmod", "remainder"])
def test_remainders(name: str) -> None:
    """As those of C, which are exact; of quotients beyond f32 torch's are NaN."""
    x, y = remainder_numbers()
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(x.numpy(), y.numpy())
    program = torch.export.export(as_module(getattr(torch, name)), (x, y))
    for one in sets():
        found = run(lowered(program, one), (x, y))
        np.testing.assert_array_equal(found, expected)
