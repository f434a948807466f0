"""The error model of numeric tests: it passes each order of a sum, and fails wrong results."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from support.accuracy import Truth, assert_accurate, error_bound, in_double, truth_of
from torch import nn
from torch.nn import functional

LENGTHS = [1, 20, 700, 5000]


def wrong(found: object, truth: Truth, **options: object) -> None:
    with pytest.raises(AssertionError, match="elements are wrong by up to"):
        assert_accurate(found, truth, **options)


def linear(terms: int, *, positive: bool = False) -> tuple[nn.Linear, torch.Tensor]:
    torch.manual_seed(terms)
    module, x = nn.Linear(terms, 40).eval(), torch.randn(30, terms)
    if positive:
        with torch.no_grad():
            module.weight.abs_()
        x = x.abs()
    return module, x


def added_in_order(module: nn.Linear, x: torch.Tensor, order: torch.Tensor) -> torch.Tensor:
    """Products added one by one in f32, the order with the largest error."""
    with torch.no_grad():
        total = module.bias.expand(len(x), -1).clone()
        for at in order.tolist():
            total += x[:, at, None] * module.weight[:, at]
    return total


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("terms", LENGTHS)
def test_each_order_of_a_sum(terms: int, positive: bool) -> None:
    module, x = linear(terms, positive=positive)
    truth = in_double(module, x)
    with torch.no_grad():
        assert_accurate(module(x), truth)
    for order in (torch.arange(terms), torch.arange(terms).flip(0), torch.randperm(terms)):
        assert_accurate(added_in_order(module, x, order), truth)


def without_a_term(module: nn.Linear, x: torch.Tensor) -> torch.Tensor:
    """The smallest of those of the largest tenth is left out of one element."""
    found = module(x)
    terms = x[3] * module.weight[5]
    found[3, 5] -= terms[terms.abs().argsort()[-max(len(terms) // 10, 1)]]
    return found


WRONG: dict[str, Callable[[nn.Linear, torch.Tensor], torch.Tensor]] = {
    "operands in bf16": lambda module, x: functional.linear(
        x.bfloat16().float(), module.weight.bfloat16().float(), module.bias
    ),
    "operands in f16": lambda module, x: functional.linear(
        x.half().float(), module.weight.half().float(), module.bias
    ),
    "result in bf16": lambda module, x: module(x).bfloat16().float(),
    "result in f16": lambda module, x: module(x).half().float(),
    "sum in bf16": lambda module, x: module.bfloat16()(x.bfloat16()).float(),
    "no bias": lambda module, x: functional.linear(x, module.weight),
    "without a term": without_a_term,
    "another element": lambda module, x: module(x).roll(1, 1),
    "a NaN": lambda module, x: module(x).index_fill(1, torch.tensor(7), math.nan),
    "an infinity": lambda module, x: module(x).index_fill(1, torch.tensor(7), math.inf),
}


@pytest.mark.parametrize("fault", WRONG)
@pytest.mark.parametrize("terms", LENGTHS)
def test_wrong_results(terms: int, fault: str) -> None:
    module, x = linear(terms)
    truth = in_double(module, x)
    with torch.no_grad():
        wrong(WRONG[fault](module, x), truth)


def test_one_wrong_element() -> None:
    """By a little more than the bound, and at the end."""
    module, x = linear(20)
    truth = in_double(module, x)
    bound = error_bound(truth.terms, torch.float32, float(truth.values[0].abs().max()))
    for factor, is_wrong in ((0.9, False), (1.2, True)):
        found = truth.values[0].float()
        found[-1, -1] = truth.values[0][-1, -1] + bound * factor
        if is_wrong:
            wrong(found, truth)
        else:
            assert_accurate(found, truth)


def test_narrower_types() -> None:
    """A result in bf16 is held to bf16, or to f32 where it passes for that."""
    module, x = linear(300)
    truth = in_double(module, x)
    with torch.no_grad():
        narrow = copy_in(module, torch.bfloat16)(x.bfloat16())
    assert_accurate(narrow, truth)
    assert_accurate(narrow.float(), truth, dtype=torch.bfloat16)
    wrong(narrow.float(), truth)
    wrong(narrow.roll(1, 0), truth)


def copy_in(module: nn.Linear, dtype: torch.dtype) -> nn.Linear:
    other = nn.Linear(module.in_features, module.out_features, dtype=dtype)
    other.load_state_dict(module.state_dict())
    return other


def test_special_values() -> None:
    x = torch.tensor([1.0, -1.0, 0.0, 1e38, math.inf, math.nan])

    def function(x: torch.Tensor) -> torch.Tensor:
        return (x * 10).sqrt()

    # An infinity, of a number that f32 does not have.
    assert_accurate(function(x), truth_of(function, x))
    wrong(function(x), in_double(function, x))
    # What f32 rounds to infinity is in its place.
    assert_accurate(x * 10, in_double(lambda x: x * 10, x))
    wrong(torch.where(x.isnan(), 0, x * 10), in_double(lambda x: x * 10, x))
    wrong(torch.where(x.isinf(), -x, x * 10), in_double(lambda x: x * 10, x))
    wrong(torch.where(x == 1e38, 3e38, x * 10), in_double(lambda x: x * 10, x))


def test_integers_and_several_results() -> None:
    x = torch.randn(4, 9)

    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        values, places = x.sort(dim=1)
        return values, places, values > 0

    truth = in_double(function, x)
    assert_accurate(function(x), truth)
    values, places, positive = function(x)
    wrong((values, places.flip(1), positive), truth)
    wrong((values, places, ~positive), truth)
    with pytest.raises(AssertionError, match="2 results, expected 3"):
        assert_accurate((values, places), truth)
    with pytest.raises(AssertionError, match=r"expected torch\.int64"):
        assert_accurate((values, places.int(), positive), truth)
    with pytest.raises(AssertionError, match="shape"):
        assert_accurate((values[:3], places, positive), truth)
    with pytest.raises(AssertionError, match=r"the true values are torch\.float32"):
        assert_accurate(values, values, 1)


def test_complex_numbers() -> None:
    x = torch.randn(30, dtype=torch.complex64)
    truth = in_double(lambda x: x * x.conj() + x, x)
    assert_accurate(x * x.conj() + x, truth)
    wrong(x * x.conj() + x.conj(), truth)


FUNCTIONS: dict[str, tuple[Callable[..., torch.Tensor], list[list[int]], int]] = {
    "linear": (nn.Linear(30, 4), [[5, 30]], 30),
    "product": (torch.matmul, [[3, 4, 9], [3, 9, 5]], 9),
    "matrix and vector": (torch.mv, [[4, 50], [50]], 50),
    "convolution": (nn.Conv2d(6, 8, 3, groups=2), [[1, 6, 9, 9]], 27),
    "transposed": (nn.ConvTranspose2d(6, 4, 3), [[1, 6, 9, 9]], 54),
    "sum": (lambda x: x.sum((1, 2)), [[3, 4, 9]], 36),
    "mean of all": (torch.mean, [[3, 4, 9]], 108),
    "softmax": (lambda x: x.softmax(-1), [[3, 70]], 70),
    "cumsum": (lambda x: x.cumsum(0), [[90, 3]], 90),
    "layer norm": (nn.LayerNorm(64), [[2, 64]], 64),
    "group norm": (nn.GroupNorm(2, 8), [[2, 8, 5, 5]], 100),
    "average": (nn.AvgPool2d(3), [[2, 8, 9, 9]], 9),
    "adaptive average": (nn.AdaptiveAvgPool2d(2), [[2, 8, 10, 10]], 25),
    "attention": (
        functional.scaled_dot_product_attention,
        [[2, 3, 7, 16], [2, 3, 20, 16], [2, 3, 20, 16]],
        56,
    ),
    "elements": (lambda x, y: (x + y) * y, [[9], [9]], 2),
    "views": (lambda x: x.t().reshape(-1)[3:], [[1, 9]], 0),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_terms_of_a_sum(name: str) -> None:
    """Counted as they are, beside a few for elementwise operations."""
    function, shapes, terms = FUNCTIONS[name]
    found = in_double(function, *(torch.randn(shape) for shape in shapes)).terms - 16
    assert terms <= found <= terms + 2


def test_state_is_left_alone() -> None:
    """The module and the inputs remain f32 and unchanged."""
    module, x = nn.BatchNorm1d(3), torch.randn(8, 3)
    before = {name: value.clone() for name, value in module.state_dict().items()}
    in_double(lambda x: x.add_(1), x.clone())
    in_double(module, x)
    for name, value in module.state_dict().items():
        assert value.dtype == before[name].dtype
        assert torch.equal(value, before[name])


def test_types_named_by_a_function() -> None:
    """Tensors held by a function, conversions, and new tensors are f64."""
    held = torch.randn(5)
    seen: list[torch.dtype] = []

    def function(x: torch.Tensor) -> torch.Tensor:
        new = torch.zeros(5) + torch.full((5,), 0.5, dtype=torch.float32)
        y = x.to(torch.bfloat16).float() + held.half() + new + torch.tensor([0.1])
        seen.extend(one.dtype for one in (new, y, torch.arange(3), x.float()))
        return y

    (value,) = in_double(function, torch.randn(5)).values
    assert seen == [torch.float64, torch.float64, torch.int64, torch.float64]
    assert value.dtype == torch.float64
