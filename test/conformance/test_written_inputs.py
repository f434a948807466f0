"""Programs that write to their inputs: the caller's tensors hold the same after eager, our runtime and stock's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from stock import StockRuntime
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from et_ir import to_edge
from et_vm.runtime import Runtime


class Writes(nn.Module):
    """A function as a module, with a buffer."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function
        self.register_buffer("count", torch.zeros(2, 3))

    def forward(self, *inputs: Tensor) -> Any:
        return self.function(self, *inputs)


def add(net: Writes, x: Tensor) -> Any:
    x.add_(1)
    return x * 2


def returned(net: Writes, x: Tensor) -> Any:
    old = x * 1
    x.mul_(3)
    return x, old, x


def old_value_later(net: Writes, x: Tensor, y: Tensor) -> Any:
    old = x.clone()
    x.copy_(y)
    return old + y, x - old


def swap(net: Writes, x: Tensor, y: Tensor) -> Any:
    old = x.clone()
    x.copy_(y)
    y.copy_(old)
    return x - y


def parts(net: Writes, x: Tensor) -> Any:
    x[0].copy_(x[1])
    x[:, 1:].mul_(2)
    x.view(-1)[0] = 7
    return None


def with_state(net: Writes, x: Tensor) -> Any:
    net.count.add_(x)
    x.copy_(net.count)
    return net.count * 1


def statistics(net: Writes, x: Tensor, mean: Tensor, variance: Tensor) -> Any:
    return nn.functional.batch_norm(x, mean, variance, training=True, momentum=0.3)


def statistics_of_instances(net: Writes, x: Tensor, mean: Tensor, variance: Tensor) -> Any:
    return nn.functional.instance_norm(x, mean, variance, use_input_stats=True)


def channels_last(net: Writes, x: Tensor) -> Any:
    x.relu_()
    return x + 1


def integers(net: Writes, x: Tensor, index: Tensor) -> Any:
    x.index_add_(0, index, torch.ones(3, 2, dtype=torch.int64))
    return index + 1


def cache(net: Writes, keys: Tensor, new: Tensor, at: Tensor) -> Any:
    keys.index_copy_(0, at, new)
    return keys.sum(0)


IMAGE = torch.randn(2, 3, 4, 5)
CASES: dict[str, tuple[Callable[..., Any], tuple[Tensor, ...]]] = {
    "add": (add, (torch.randn(2, 3),)),
    "0-d": (add, (torch.tensor(2.0),)),
    "empty": (add, (torch.zeros(0, 3),)),
    "bf16": (add, (torch.randn(2, 3).bfloat16(),)),
    "bool": (lambda net, x: x.logical_not_().any(), (torch.tensor([True, False]),)),
    "returned": (returned, (torch.randn(2, 3),)),
    "old value later": (old_value_later, (torch.randn(2, 3), torch.randn(2, 3))),
    "swap": (swap, (torch.randn(2, 3), torch.randn(2, 3))),
    "parts": (parts, (torch.randn(2, 3),)),
    "with state": (with_state, (torch.randn(2, 3),)),
    "statistics": (statistics, (IMAGE, torch.randn(3), torch.rand(3))),
    "instances": (statistics_of_instances, (IMAGE, torch.randn(3), torch.rand(3))),
    "channels last": (channels_last, (IMAGE.contiguous(memory_format=torch.channels_last),)),
    "integers": (integers, (torch.arange(8).reshape(4, 2), torch.tensor([0, 2, 2]))),
    "cache": (cache, (torch.zeros(4, 3), torch.randn(2, 3), torch.tensor([1, 3]))),
}


@pytest.mark.parametrize("name", CASES)
def test_the_caller_sees_the_same(name: str, stock: StockRuntime, tmp_path: Path) -> None:
    function, examples = CASES[name]
    path = tmp_path / "written.pte"
    to_edge(torch.export.export(Writes(function), _copies(examples), strict=False)).to_executorch().save(path)
    eager = _copies(examples)
    want = [value.clone() for value in _tensors(Writes(function)(*eager))]
    runs = {"stock": lambda inputs: stock.run_in_place(path, inputs)}
    for library in ("portable", "aten"):
        runs[library] = lambda inputs, library=library: _run(path, library, inputs)
    for runtime, run in runs.items():
        outputs, inputs = run(_copies(examples))
        for got, expected in zip([*_tensors(outputs), *inputs], [*want, *eager], strict=True):
            torch.testing.assert_close(got, expected, msg=lambda text, at=runtime: f"{at}: {text}")


def test_sizes_known_at_run_time(stock: StockRuntime, tmp_path: Path) -> None:
    path = tmp_path / "sized.pte"
    example = torch.randn(4, 3)
    program = torch.export.export(
        Writes(returned),
        (example.clone(),),
        dynamic_shapes={"inputs": ({0: torch.export.Dim("n", min=2, max=8)},)},
    )
    to_edge(program).to_executorch().save(path)
    for size in (4, 8, 2):
        given = torch.randn(size, 3)
        eager = given.clone()
        want = [value.clone() for value in _tensors(Writes(returned)(eager))]
        for run in (
            lambda inputs: stock.run_in_place(path, inputs),
            lambda inputs: _run(path, "portable", inputs),
        ):
            outputs, (written,) = run([given.clone()])
            torch.testing.assert_close(outputs, want)
            torch.testing.assert_close(written, eager)


def test_methods_share_the_caller_tensor(stock: StockRuntime, tmp_path: Path) -> None:
    """Two methods on one tensor, one after the other."""
    path = tmp_path / "methods.pte"
    x = torch.randn(2, 3)
    programs = {
        name: torch.export.export(Writes(function), (x.clone(),), strict=False)
        for name, function in (("add", add), ("returned", returned))
    }
    to_edge(programs).to_executorch().save(path)
    eager, ours, theirs = x.clone(), x.clone(), x.clone()
    program = Runtime.get().load_program(path)
    for name, function in (("add", add), ("returned", returned), ("add", add)):
        want = [value.clone() for value in _tensors(Writes(function)(eager))]
        got = program.load_method(name).execute([ours])
        outputs, (theirs,) = stock.run_in_place(path, [theirs], name)
        torch.testing.assert_close(got, want)
        torch.testing.assert_close(outputs, want)
        torch.testing.assert_close(ours, eager)
        torch.testing.assert_close(theirs, eager)


@pytest.mark.parametrize(
    "fill", ["uniform_", "normal_", "exponential_", "geometric_", "log_normal_", "cauchy_"]
)
def test_random_numbers_in_place(fill: str, stock: StockRuntime, tmp_path: Path) -> None:
    """The returned value is the content of the caller's tensor, and has changed."""

    def function(net: Writes, x: Tensor) -> Any:
        return getattr(x, fill)(*((0.5,) if fill == "geometric_" else ()))

    path = tmp_path / "random.pte"
    # A geometric distribution of 512 numbers lacks those above 3 with a probability of 2e-30.
    example = torch.full((512,), -100.0)
    to_edge(torch.export.export(Writes(function), (example.clone(),), strict=False)).to_executorch().save(
        path
    )
    runs: list[Callable[[list[Any]], Any]] = [
        lambda inputs: stock.run_in_place(path, inputs),
        lambda inputs: _run(path, "portable", inputs),
        lambda inputs: _run(path, "aten", inputs),
    ]
    for run in runs:
        (output,), (given,) = run(_copies((example,)))
        torch.testing.assert_close(given, output, rtol=0, atol=0)
        assert len(given.unique()) > 3
        assert not (given == example).any()


def _run(path: Path, library: str, inputs: list[Tensor]) -> tuple[list[Any], list[Tensor]]:
    method = Runtime.get().load_program(path, kernels=library, poison=True).load_method("forward")
    return method.execute(inputs), inputs


def _copies(values: tuple[Tensor, ...]) -> Any:
    return (
        [value.clone() for value in values] if isinstance(values, list) else tuple(v.clone() for v in values)
    )


def _tensors(tree: Any) -> list[Tensor]:
    return [value for value in pytree.tree_leaves(tree) if isinstance(value, Tensor)]
