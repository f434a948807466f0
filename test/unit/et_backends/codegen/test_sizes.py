"""Kernels for sizes that are known at run time only: one file for all sizes, against eager."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from native_modules import SETS, as_module, sets
from support.accuracy import assert_accurate, largest, truth_of
from torch import nn
from torch.nn import functional

from et_backends.native.compiler import NativePartitioner
from et_ir import ExecutorchBackendConfig, to_edge_transform_and_lower
from et_schema.errors import Error, ExecutorchError
from et_vm.runtime import Method, Runtime

BATCH = torch.export.Dim("batch", min=1, max=5)
LENGTH = torch.export.Dim("length", min=5, max=70)


@dataclass(frozen=True)
class Case:
    """A function of inputs whose sizes are numbers, or `b` and `n` of `BATCH` and `LENGTH`."""

    function: Callable[..., Any]
    shapes: Sequence[Sequence[int | str]]
    scale: float = 0.0
    """The size of the terms, where they may cancel in all elements of the result."""

    def inputs(self, **sizes: int) -> tuple[torch.Tensor, ...]:
        torch.manual_seed(0)
        return tuple(
            torch.randn([sizes[one] if isinstance(one, str) else one for one in shape])
            for shape in self.shapes
        )

    def exported(self) -> torch.export.ExportedProgram:
        symbols = {"b": BATCH, "n": LENGTH}
        dynamic = tuple(
            {dim: symbols[one] for dim, one in enumerate(shape) if isinstance(one, str)}
            for shape in self.shapes
        )
        module = as_module(self.function)
        specified = dynamic if isinstance(self.function, nn.Module) else (dynamic,)
        return torch.export.export(module, self.inputs(b=3, n=9), dynamic_shapes=specified)


def attention(x: torch.Tensor) -> torch.Tensor:
    """Four heads of eight, of one projection."""
    heads = x.view(x.shape[0], x.shape[1], 4, 8).transpose(1, 2)
    return functional.scaled_dot_product_attention(heads, heads, heads).transpose(1, 2).reshape(x.shape)


def _replaced(x: torch.Tensor) -> torch.Tensor:
    """Neighbors written over all places of a copy but the outer ones."""
    made = x * 2
    made[:, 1:-1] = x[:, 2:]
    return made + 1


def seeded(module: nn.Module) -> nn.Module:
    torch.manual_seed(0)
    for parameter in module.parameters():
        nn.init.normal_(parameter, 0, 0.1)
    return module


CASES = {
    "pointwise": Case(lambda x, y: torch.tanh(x) * y + x, [("b", "n", 5), ("b", "n", 5)]),
    "broadcast": Case(lambda x, y: x * y.exp() - y, [("b", "n", 5), ("n", 1)]),
    "broadcast a row": Case(lambda x, y: x + y, [("b", "n"), ("n",)]),
    "expand": Case(lambda x, y: x.expand(y.shape[0], -1, -1) + 1, [(1, "n", 3), ("b", 2)]),
    "softmax": Case(lambda x: torch.softmax(x * 2, -1), [("b", 3, "n")]),
    "softmax across rows": Case(lambda x: torch.softmax(x, 1), [("b", "n", 7)]),
    "log softmax": Case(lambda x: torch.log_softmax(x, -1), [("b", "n")]),
    "layer norm": Case(lambda x: functional.layer_norm(x, (19,)), [("b", "n", 19)]),
    "group norm": Case(lambda x: functional.group_norm(x, 2), [("b", 6, "n")]),
    "sum": Case(lambda x: x.sum(-1) * 2, [("b", "n")]),
    "sum over the first": Case(lambda x: x.sum(0), [("n", "b")]),
    "sum of all": Case(lambda x: x.sum(), [("b", "n")], 4.0),
    "mean": Case(lambda x: x.mean((0, 2)), [("b", 3, "n")]),
    "variance": Case(lambda x: x.var(-1, correction=1), [("b", "n")]),
    "variance across rows": Case(lambda x: x.var(1), [("b", "n", 18)]),
    "largest": Case(lambda x: x.amax(-1) - x.amin(1), [("b", "n", "n")]),
    "largest of rows": Case(lambda x: x.topk(3)[0] - x.topk(3)[1], [("b", "n", 7)]),
    "largest of a length": Case(lambda x: x.topk(5, 1)[0] + x.topk(2, 1, False)[1].sum(), [("b", "n", 3)]),
    "a length in order": Case(lambda x: x.sort(-1)[0] + x.argsort(0), [("b", "n")]),
    "running sum": Case(lambda x: x.cumsum(1) * 2, [("b", "n", 5)]),
    "running sum of rows": Case(lambda x: x.cumsum(-1), [("b", "n")]),
    "running sum of parts": Case(lambda x: x.cumsum(0), [("n", 3, "b")]),
    "place of the largest": Case(lambda x: x.argmax(1), [("b", "n", 19)]),
    "place of all": Case(lambda x: x.argmin(), [("b", "n")]),
    "least and its place": Case(lambda x: x.min(0)[0] + x.min(0)[1], [("n", "b")]),
    "reversed": Case(lambda x: x.flip(1) * 2, [("b", "n", 5)]),
    "reversed rows": Case(lambda x: x.flip(0, -1), [("b", "n")]),
    "rolled": Case(lambda x: x.roll((3, -2, 1), (1, 2, 0)) * 2, [("b", "n", 5)]),
    "rolled by more than the size": Case(lambda x: x.roll((100, -100), (1, 0)), [("b", "n")]),
    "rolled elements": Case(lambda x: x.roll(-7), [("b", "n", 3)]),
    "repeated": Case(lambda x: x.repeat(2, 1, 3, 1) + 1, [("b", "n", 4)]),
    "repeated rows": Case(lambda x: x.repeat(1, 2), [("n", "b")]),
    "diagonal": Case(lambda x: x.diagonal(0, 1, 2).clone(), [("b", "n", "n")]),
    "diagonal below": Case(lambda x: x.diagonal(-3, 0, 2).clone(), [("n", "b", 4)]),
    "diagonal above": Case(lambda x: x.diagonal(2, 0, 1).clone(), [("n", "n", 2)]),
    "every other row": Case(lambda x: x[:, ::2] * 2, [("b", "n", 5)]),
    "every third from the end": Case(lambda x: x[..., -4::3].clone(), [("b", 3, "n")]),
    "steps after the first": Case(lambda x: torch.cat([x[:, 1::3], x], 1), [("b", "n")]),
    "transpose": Case(lambda x: x.transpose(1, 2).contiguous() * 2, [("b", "n", 5)]),
    "transpose heads": Case(lambda x: x.permute(0, 2, 3, 1).contiguous().exp(), [("b", "n", 4, 3)]),
    "cat": Case(lambda x, y: torch.cat([x, y, x], 1) * 2, [("b", "n", 3), ("b", 4, 3)]),
    "cat rows": Case(lambda x, y: torch.cat([x, y]) * 2, [("n", 3), ("b", 3)]),
    "slice": Case(lambda x: x[:, 1:] * 2 + x[:, :-1], [("b", "n", 3)]),
    "slice of a number": Case(lambda x: x[:, :2] + x[:, -2:], [("b", "n", 3)]),
    "slice to a size": Case(lambda x, y: x[:, : y.shape[0]] + y, [(4, 80), ("n",)]),
    "slice of a size at the end": Case(lambda x, y: x[:, -y.shape[0] :] + y, [(4, 80), ("n",)]),
    "windows": Case(lambda x: x.unfold(1, 3, 2) * 2, [("b", "n")]),
    "windows across rows": Case(
        lambda x: x.unfold(0, 3, 1).sum(-1) + x.unfold(0, 3, 1)[..., 0], [("n", "b", 3)]
    ),
    "pad": Case(lambda x: functional.pad(x, (2, 0, 1, 3), value=0.5) * 2, [("b", "n", 3)]),
    "pad and cut": Case(lambda x: functional.pad(x, (-1, 2)).exp(), [("b", "n")]),
    "pixels shuffled": Case(lambda x: functional.pixel_shuffle(x, 2) * 2, [("b", 8, "n", 5)]),
    "pixels of a batch shuffled": Case(lambda x: functional.pixel_unshuffle(x, 2) + 1, [("b", 2, 6, 4)]),
    "channels shuffled": Case(lambda x: torch.channel_shuffle(x, 2) + 1, [("b", 6, "n", 2)]),
    "part replaced": Case(lambda x, y: torch.slice_scatter(x * 2, y, 1, 1, 4), [("b", "n", 3), ("b", 3, 3)]),
    "part of any size replaced": Case(lambda x: _replaced(x), [("b", "n", 3)]),
    "every other replaced": Case(
        lambda x: torch.slice_scatter(x * 2, x[..., ::2] + 1, 2, 0, None, 2), [("b", 3, "n")]
    ),
    "rows of a size replaced": Case(
        lambda x, y: torch.slice_scatter(x * 2, y + 1, 0, 2, 2 + y.shape[0]), [(80, 4), ("n", 4)]
    ),
    "place replaced": Case(
        lambda x, y: torch.select_scatter(torch.select_scatter(x * 2, y, 1, 2), y + 1, 1, -1),
        [("b", "n", 3), ("b", 3)],
    ),
    "select": Case(lambda x: x[:, -1] + x[:, 0], [("b", "n", 3)]),
    "halves": Case(lambda x: torch.cat([-x[..., 4:], x[..., :4]], -1), [("b", "n", 8)]),
    "view": Case(lambda x: x.reshape(-1, 4).sum(0) * x.reshape(x.shape[0], -1).sum(), [("b", "n", 4)]),
    "linear": Case(seeded(nn.Linear(33, 40)), [("b", "n", 33)]),
    "linear of one row": Case(seeded(nn.Linear(33, 50)), [("b", 33)]),
    "gated": Case(
        seeded(nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.Linear(64, 16), nn.LayerNorm(16))),
        [("b", "n", 16)],
    ),
    "products": Case(lambda x, y: torch.bmm(x, y), [("b", "n", 7), ("b", 7, "n")]),
    "products of sums": Case(lambda x, y: torch.bmm(x, y), [(2, 5, "n"), (2, "n", 40)]),
    "matrix": Case(lambda x, y: x @ y + 1, [("b", "n"), ("n", "n")]),
    "convolution": Case(seeded(nn.Conv2d(3, 20, 3, padding=1)), [("b", 3, "n", "n")]),
    "convolution with steps": Case(seeded(nn.Conv2d(5, 33, (3, 2), 2, 1)), [("b", 5, "n", 11)]),
    "convolution apart": Case(seeded(nn.Conv2d(4, 16, 2, 1, 0, 2)), [(2, 4, "n", "n")]),
    "convolution of a batch": Case(seeded(nn.Conv2d(4, 40, 3)), [("b", 4, 9, 17)]),
    "points": Case(seeded(nn.Sequential(nn.Conv2d(7, 18, 1), nn.ReLU())), [("b", 7, "n", 6)]),
    "depthwise": Case(seeded(nn.Conv2d(19, 19, 3, 1, 1, groups=19)), [("b", 19, "n", "n")]),
    "depthwise with steps": Case(seeded(nn.Conv2d(8, 8, 3, 2, groups=8)), [(1, 8, "n", 13)]),
    "volumes": Case(seeded(nn.Conv3d(3, 8, 3, padding=1)), [("b", 3, 5, "n", 4)]),
    "volumes of any depth": Case(
        seeded(nn.Conv3d(4, 6, (2, 3, 1), (2, 1, 2), (3, 0, 1), (2, 1, 1), groups=2)), [(2, 4, "n", 6, 5)]
    ),
    "depthwise of volumes": Case(seeded(nn.Conv3d(5, 5, 3, groups=5, bias=False)), [("b", 5, "n", 6, 5)]),
    "points of volumes": Case(seeded(nn.Conv3d(3, 8, 1)), [("b", 3, 4, "n", 4)]),
    "volumes transposed": Case(seeded(nn.ConvTranspose3d(3, 4, 3, 2, 1, 1)), [("b", 3, 5, "n", 4)]),
    "largest of windows": Case(lambda x: functional.max_pool2d(x, 3, 2, 1), [("b", 5, "n", "n")]),
    "average of windows": Case(lambda x: functional.avg_pool2d(x, 3, 2, 1), [("b", 5, "n", "n")]),
    "average without borders": Case(
        lambda x: functional.avg_pool2d(x, 3, 1, 1, count_include_pad=False), [("b", 17, "n", 7)]
    ),
    "images": Case(
        seeded(
            nn.Sequential(
                nn.Conv2d(3, 16, 3, 2, 1),
                nn.BatchNorm2d(16),
                nn.ReLU(),
                nn.Conv2d(16, 16, 3, 1, 1, groups=16),
                nn.MaxPool2d(3, 2, 1),
                nn.Conv2d(16, 24, 1),
                nn.AdaptiveAvgPool2d(1),
                nn.Flatten(),
                nn.Linear(24, 10),
            )
        ),
        [("b", 3, "n", "n")],
    ),
    "attention": Case(attention, [("b", "n", 32)]),
}


@pytest.mark.parametrize("name", SETS)
def test_sizes_of_zero(name: str) -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        rows = torch.softmax(x @ y, -1).exp()
        return torch.cat([rows.sum(0) + x.sum() + y.sum(0), (rows * 2).reshape(-1)])

    sizes = {0: torch.export.Dim("rows", min=0, max=9)}
    inputs = torch.randn(4, 6), torch.randn(6, 20)
    module = as_module(function)
    program = torch.export.export(module, inputs, dynamic_shapes=((sizes, None),))
    edge = to_edge_transform_and_lower(program, partitioner=NativePartitioner(instruction_sets=[name]))
    file = edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
    method = Runtime().load_program(file, allow_native=True, poison=True).load_method("forward")
    for rows in (4, 0, 9, 1):
        given = torch.randn(rows, 6), inputs[1]
        assert_accurate(method.execute(given)[0], truth_of(module, *given))


@dataclass(frozen=True)
class Lookup:
    """A function of a tensor and one of indices, whose sizes are as those of `Case`."""

    function: Callable[..., Any]
    shape: Sequence[int | str]
    places: Sequence[int | str]
    dim: int = 0
    """The dimension of the tensor that indices are for."""
    wraps: bool = False
    """Whether they may count from the end."""

    def inputs(self, **sizes: int) -> tuple[torch.Tensor, ...]:
        torch.manual_seed(0)
        shape, places = ([sizes.get(str(one), one) for one in of] for of in (self.shape, self.places))
        size = int(shape[self.dim])
        table = torch.randn([int(one) for one in shape])
        return table, torch.randint(-size if self.wraps else 0, size, [int(one) for one in places])

    def exported(self) -> torch.export.ExportedProgram:
        symbols = {"b": BATCH, "n": LENGTH}
        dynamic = tuple(
            {dim: symbols[one] for dim, one in enumerate(shape) if isinstance(one, str)}
            for shape in (self.shape, self.places)
        )
        return torch.export.export(as_module(self.function), self.inputs(b=3, n=9), dynamic_shapes=(dynamic,))


LOOKUPS = {
    "embedding": Lookup(lambda x, i: functional.embedding(i, x) * 2, [13, 21], ["b", "n"]),
    "embedding of many": Lookup(lambda x, i: functional.embedding(i, x) + 1, ["n", 80], ["b"]),
    "rows": Lookup(lambda x, i: x.index_select(0, i) + 1, ["n", 3, 7], ["b"]),
    "rows of any length": Lookup(lambda x, i: x.index_select(0, i).exp(), [6, "n"], ["b"]),
    "rows of parts": Lookup(lambda x, i: x.index_select(1, i) + 1, ["b", "n", 5], [4], 1),
    "elements": Lookup(lambda x, i: x.index_select(-1, i) + 1, ["b", "n"], [4], 1),
    "indices": Lookup(lambda x, i: x[i] * 2, ["n", 3, 2], ["b", 2], 0, wraps=True),
    "indices of a dimension": Lookup(lambda x, i: x[:, i] * 2, [2, "n", 18], ["b"], 1, wraps=True),
    "indices of two dimensions": Lookup(
        lambda x, i: x[torch.arange(3)[:, None], i] * 2, [3, "n", 5], [3, "b"], 1, wraps=True
    ),
    "gathered": Lookup(lambda x, i: x.gather(1, i) + 1, [4, "n", 5], [4, "b", 3], 1),
    "gathered rows": Lookup(lambda x, i: x.gather(0, i) + 1, ["n", "b"], ["b", "b"]),
    "scattered": Lookup(lambda x, i: x.scatter(1, i, x * 3), [4, "n"], [4, 1], 1),
    "scattered number": Lookup(lambda x, i: x.scatter(0, i, 2.5) * 2, ["n", "b", 3], [1, "b", 2]),
    "added": Lookup(lambda x, i: x.scatter_add(0, i, x + 1), ["n", 6], ["b", 5]),
    "largest of each": Lookup(lambda x, i: x.scatter_reduce(0, i, x * 2, "amax"), ["n", "b"], ["b", "b"]),
    "products of each": Lookup(
        lambda x, i: x.scatter_reduce(0, i, x * 2, "prod", include_self=False), ["n", "b"], ["b", "b"]
    ),
    "put": Lookup(lambda x, i: torch.index_put(x, [i], x[:1] * 2), ["n", 3, 7], [1], 0, wraps=True),
    "put and added": Lookup(
        lambda x, i: torch.index_put(x, [i], x[:1] + 1, accumulate=True), ["n", "b", 4], [6], 0, wraps=True
    ),
}


@pytest.mark.parametrize("lookup", LOOKUPS.values(), ids=LOOKUPS)
def test_lookups_of_any_size(lookup: Lookup) -> None:
    methods = methods_of(lookup)
    for b, n in ((3, 9), (1, 5), (5, 70), (2, 16), (4, 33)):
        table, places = lookup.inputs(b=b, n=n)
        expected = as_module(lookup.function)(table, places).numpy()
        for name, method in methods:
            found = np.array(method.execute([table.numpy(), places.numpy()])[0])
            np.testing.assert_allclose(found, expected, rtol=2e-6, err_msg=f"{name}, b={b}, n={n}")
            size = table.shape[lookup.dim]
            for wrong in (size, -size - 1, 2**62):
                bad = places.numpy().copy()
                bad.flat[-1] = wrong
                with pytest.raises(ExecutorchError, match="an index is out of range") as caught:
                    method.execute([table.numpy(), bad])
                assert caught.value.code == Error.InvalidArgument


@pytest.mark.parametrize("shape", [(7, 4), (4,)], ids=["rows", "a row"])
def test_values_that_may_be_broadcast(shape: tuple[int, ...]) -> None:
    """Values of a size that may be 1, or no size of the places, at run time: no kernel reads beyond them."""
    dims = torch.export.Dim("places", min=1, max=9), torch.export.Dim("values", min=1, max=9)
    columns = ({1: dims[0]}, None) if len(shape) == 1 else (None, {0: dims[0]})
    inputs = torch.randn(9, 4), torch.arange(7), torch.randn(shape)
    program = torch.export.export(
        as_module(lambda x, i, y: torch.index_put(x, [i], y) * 2),
        inputs,
        dynamic_shapes=((*columns, {0: dims[1]}),),
    )
    edge = to_edge_transform_and_lower(program, partitioner=NativePartitioner(instruction_sets=SETS[:1]))
    file = edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
    method = Runtime().load_program(file, allow_native=True, poison=True).load_method("forward")
    for size in (shape[0], 1):
        given = *inputs[:2], torch.randn(size, *shape[1:])
        found = np.array(method.execute([one.numpy() for one in given])[0])
        np.testing.assert_allclose(found, (torch.index_put(given[0], [given[1]], given[2]) * 2).numpy())
    with pytest.raises(ExecutorchError) as caught:
        method.execute([one.numpy() for one in (*inputs[:2], torch.randn(3, *shape[1:]))])
    assert caught.value.code == Error.InvalidArgument


def test_a_lookup_in_no_rows() -> None:
    lookup = LOOKUPS["rows"]
    sizes = {0: torch.export.Dim("rows", min=0, max=9)}
    table, places = lookup.inputs(b=3, n=9)
    program = torch.export.export(
        as_module(lookup.function), (table, places), dynamic_shapes=((sizes, None),)
    )
    edge = to_edge_transform_and_lower(program, partitioner=NativePartitioner(instruction_sets=SETS[:1]))
    file = edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
    method = Runtime().load_program(file, allow_native=True, poison=True).load_method("forward")
    with pytest.raises(ExecutorchError, match="an index is out of range"):
        method.execute([table[:0].numpy(), places.numpy()])
    found = np.array(method.execute([table.numpy(), places.numpy()])[0])
    np.testing.assert_allclose(found, lookup.function(table, places).numpy(), rtol=2e-6)


class Places(nn.Module):
    """Rows of a tensor from a place on, and one row, both known at run time only."""

    def forward(self, x: torch.Tensor, at: torch.Tensor, row: torch.Tensor) -> torch.Tensor:
        start, index = at.item(), row.item()
        torch._check(start >= 0)
        torch._check(start + 3 <= x.shape[0])
        torch._check(index >= 0)
        torch._check(index < x.shape[0])
        return x[start : start + 3] * 2 + x.select(0, index)


@pytest.mark.parametrize("name", SETS)
def test_integers_are_inputs_of_a_partition(name: str) -> None:
    module = Places()
    inputs = torch.randn(11, 21), torch.tensor(4), torch.tensor(2)
    edge = to_edge_transform_and_lower(
        torch.export.export(module, inputs), partitioner=NativePartitioner(instruction_sets=[name])
    )
    left = [op.name for op in edge.module.walk() if op.name.startswith("edge.")]
    assert set(left) == {"edge._local_scalar_dense"}
    file = edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
    method = Runtime().load_program(file, allow_native=True, poison=True).load_method("forward")
    for start, row in ((4, 2), (0, 10), (8, 0), (8, 1), (3, 1)):
        given = inputs[0], torch.tensor(start), torch.tensor(row)
        torch.testing.assert_close(method.execute(given)[0], module(*given))


NUMBERS: dict[str, tuple[Callable[..., Any], torch.Tensor, set[str]]] = {
    "size": (
        lambda x, n: torch.softmax(x * x.shape[0], 0) + x.shape[0] / 4,
        torch.tensor(0),
        {"scalar_tensor", "sym_size.int"},
    ),
    "size for all elements": (
        lambda x, n: x.new_full((x.shape[0], 21), x.shape[0]) * x,
        torch.tensor(0),
        {"scalar_tensor", "sym_size.int"},
    ),
    "integer": (lambda x, n: x * n.item() - n.item(), torch.tensor(3), set()),
    "integer in a row": (lambda x, n: (x + 1) * n.item(), torch.tensor([3]), set()),
    "float": (lambda x, n: (x * 2 > n.item()) | (x < n.item()), torch.tensor(0.25), set()),
    "largest": (lambda x, n: x / x.abs().amax().item(), torch.tensor(0), set()),
    "float for all elements": (lambda x, n: torch.full((21,), n.item()) + x, torch.tensor(0.25), set()),
    "integers by an integer": (lambda x, n: torch.arange(21) * n.item() + x, torch.tensor(3), set()),
}
"""Functions that compute with a number that is known at run time only, and what stays outside of the partition."""


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_that_are_known_at_run_time_only(name: str) -> None:
    function, number, left = NUMBERS[name]
    module = as_module(function)
    program = torch.export.export(module, (torch.randn(9, 21), number), dynamic_shapes=(({0: LENGTH}, None),))
    edge = to_edge_transform_and_lower(program, partitioner=NativePartitioner(instruction_sets=sets()))
    found = {op.name.removeprefix("edge.") for op in edge.module.walk() if op.name.startswith("edge.")}
    assert found == left
    file = edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
    method = Runtime().load_program(file, allow_native=True, poison=True).load_method("forward")
    for length, given in ((9, number), (5, number * 2), (70, -number)):
        x = torch.randn(length, 21)
        torch.testing.assert_close(method.execute([x, given])[0], module(x, given))


def methods_of(case: Case | Lookup) -> list[tuple[str, Method]]:
    """The method of a file with one partition, on each instruction set, with one thread and with two, by their names.

    Sizes may be read outside of the partition.
    """
    program = case.exported()
    made: list[tuple[str, Method]] = []
    for name in sets():
        edge = to_edge_transform_and_lower(program, partitioner=NativePartitioner(instruction_sets=[name]))
        left = [
            op.name for op in edge.module.walk() if op.name == "backend.call" or op.name.startswith("edge.")
        ]
        assert left == ["backend.call"]
        file = edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
        for threads in (1, 2):
            loaded = Runtime(threads=threads).load_program(file, allow_native=True, poison=True)
            made.append((f"{name}, {threads} threads", loaded.load_method("forward")))
    return made


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_one_file_for_all_sizes(case: Case) -> None:
    _check(case, [(3, 9), (1, 5), (5, 70), (2, 16), (4, 33), (1, 63), (5, 14), (3, 27)])


def test_windows_beyond_images() -> None:
    """What they cover depends on steps, sizes and distances along each axis."""
    _check(
        Case(lambda x: functional.max_pool2d(x, (3, 2), (2, 1), 1, (2, 3)), [("b", 5, "n", "n")]),
        [(2, 7), (3, 8), (1, 20)],
    )


def _check(case: Case, sizes: Sequence[tuple[int, int]]) -> None:
    methods = methods_of(case)
    module = as_module(case.function).eval()
    for b, n in sizes:
        inputs = case.inputs(b=b, n=n)
        truth = truth_of(module, *inputs)
        scale = max(case.scale, largest(truth.values[0]))
        for name, method in methods:
            found = np.array(method.execute([one.numpy() for one in inputs])[0])
            assert_accurate(found, truth, scale=scale, what=f"{name}, b={b}, n={n}")
