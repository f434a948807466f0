"""The reference evaluator against torch, at each level above executorch."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch
from support.modules import parse
from torch import nn
from torch.utils._pytree import tree_leaves

from et_ir.driver.configs import EdgeCompileConfig
from et_ir.driver.observer import Observer
from et_ir.driver.stages import edge_stages, run_stages
from et_ir.evaluation.evaluator import EvaluationFailed, Evaluator
from et_ir.frontend import import_program
from examples.models import MORE, NAMES, factory


class _EachLevel(Observer):
    """Evaluates the program at each level that it reaches."""

    def __init__(self, runs: list[list[Any]], state: dict[str, torch.Tensor] | None = None):
        self.runs = runs
        self.results: dict[str, list[list[Any]]] = {}
        self.states: dict[str, dict[str, Any]] = {}

    def reached(self, level: str, module: Any) -> None:
        evaluator = Evaluator(module)
        self.results[level] = [evaluator.run(inputs) for inputs in self.runs]
        self.states[level] = evaluator.state


def at_each_level(
    module: nn.Module, example: tuple[Any, ...], runs: list[tuple[Any, ...]], shapes: Any = None
) -> _EachLevel:
    program = torch.export.export(module, example, dynamic_shapes=shapes)
    levels = _EachLevel([tree_leaves(inputs) for inputs in runs])
    run_stages(import_program(program), edge_stages(EdgeCompileConfig()), levels)
    assert list(levels.results) == ["aten", "core-aten", "edge"]
    return levels


def check(
    module: nn.Module, example: tuple[Any, ...], runs: list[tuple[Any, ...]], shapes: Any = None
) -> None:
    levels = at_each_level(module, example, runs, shapes)
    with torch.no_grad():
        expected = [tree_leaves(module(*inputs)) for inputs in runs]
    for found in levels.results.values():
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", [*NAMES, *MORE])
def test_example_models(name: str) -> None:
    module, inputs = factory(name)()
    check(module, inputs, [inputs])


class Dynamic(nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, int]:
        n = x.shape[0]
        rows = torch.arange(n, dtype=x.dtype)
        positive = torch.nonzero(x > 0)
        return (x * rows[:, None]).reshape(2 * n, -1), positive, n + 1


def test_dynamic_sizes() -> None:
    shapes = {"x": {0: torch.export.Dim("n", min=2, max=8)}}
    check(Dynamic(), (torch.randn(3, 4),), [(torch.randn(size, 4),) for size in (2, 5, 8)], shapes)


class Branches(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda a, b: a + b, lambda a, b: a - b, (x, y))


def test_branches() -> None:
    x = torch.ones(3)
    check(Branches(), (x, -x), [(x, x * 2), (-x, x)])


class Loops(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        from torch._higher_order_ops.while_loop import while_loop

        count, found = while_loop(
            lambda i, a: i < 3, lambda i, a: (i + 1, torch.sin(a) * 2), (torch.tensor(0), x)
        )
        return found + count


class Scans(nn.Module):
    def forward(self, xs: torch.Tensor, h: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        from torch._higher_order_ops.map import map as map_
        from torch._higher_order_ops.scan import scan

        last, all_ = scan(lambda s, x: (s * 0.5 + x, s + x), h, xs)
        return last, all_, map_(lambda x, b: x * b, xs, h)


def test_loops() -> None:
    check(Loops(), (torch.randn(4),), [(torch.randn(4),)])


def test_scans_and_maps() -> None:
    inputs = (torch.randn(5, 3), torch.randn(3))
    check(Scans(), inputs, [inputs])


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.total.add_(x)
        return self.total * 2


def test_state() -> None:
    x = torch.tensor([1.0, 2.0])
    levels = at_each_level(Counter(), (x,), [(x,), (x,)])
    for level, found in levels.results.items():
        assert [run[0].tolist() for run in found] == [[2, 4], [4, 8]], level
        assert levels.states[level]["total"].tolist() == [2, 4]


def test_state_is_reset() -> None:
    module = import_program(torch.export.export(Counter(), (torch.ones(2),)))
    evaluator = Evaluator(module)
    evaluator.run([torch.ones(2)])
    evaluator.reset()
    assert evaluator.run([torch.ones(2)])[0].tolist() == [2, 2]


class Writes(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x.mul_(2)
        return x + 1


def test_written_inputs() -> None:
    evaluator = Evaluator(import_program(torch.export.export(Writes(), (torch.ones(2),))))
    x = torch.ones(2)
    assert evaluator.run([x])[0].tolist() == [3, 3]
    assert evaluator.overwritten[0].tolist() == [2, 2]
    assert x.tolist() == [1, 1]


def test_quantized_operators() -> None:
    parameters = "scale = 0.5, zero_point = 1, quant_min = -128, quant_max = 127, dtype = i8"
    module = parse(
        """func.func @forward(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
      %1 = edge.quantized_decomposed.quantize_per_tensor %x {PARAMETERS}
        : (tensor<2x3xf32>) -> tensor<2x3xi8>
      %2 = edge.quantized_decomposed.dequantize_per_tensor %1 {PARAMETERS}
        : (tensor<2x3xi8>) -> tensor<2x3xf32>
      func.return %2 : tensor<2x3xf32>
    }""".replace("PARAMETERS", parameters)
    )
    (found,) = Evaluator(module).run([torch.tensor([[0.3, 0.1, -0.6], [70.0, -70.0, 0.0]])])
    assert found.tolist() == [[0.5, 0.0, -0.5], [63.0, -64.5, 0.0]]


PARTITION = """func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %1 = backend.partition "demo" (%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %b = edge.relu %a : tensor<4xf32>
    backend.yield %b : tensor<4xf32>
  }
  %2 = edge.neg %1 : tensor<4xf32>
  func.return %2 : tensor<4xf32>
}"""


def test_partitions_by_their_own_ops() -> None:
    seen: list[str] = []
    evaluator = Evaluator(parse(PARTITION), watch=lambda op, results: seen.append(op.name))
    assert evaluator.run([torch.tensor([-1.0, 0.0, 1.0, 2.0])])[0].tolist() == [0, 0, -1, -2]
    assert seen == ["edge.relu", "backend.partition", "edge.neg"]


def test_random_operators_repeat() -> None:
    module = parse("""func.func @forward(%x: tensor<8xf32>) -> tensor<8xf32> {
      %1 = aten.rand_like %x : tensor<8xf32>
      func.return %1 : tensor<8xf32>
    }""")
    runs = [Evaluator(module).run([torch.ones(8)])[0] for _ in range(2)]
    assert torch.equal(*runs)


def test_an_operator_that_refuses() -> None:
    module = parse("""func.func @forward(%x: tensor<4xf32>, %i: tensor<2xi64>) -> tensor<2xf32> {
      %1 = aten.index_select %x, %i {dim = 0} : (tensor<4xf32>, tensor<2xi64>) -> tensor<2xf32>
      func.return %1 : tensor<2xf32>
    }""")
    with pytest.raises(EvaluationFailed, match=r"'aten.index_select': .*out of range"):
        Evaluator(module).run([torch.ones(4), torch.tensor([0, 9])])


def test_quotients_that_integers_do_not_hold() -> None:
    module = parse("""func.func @forward(%x: tensor<2xi64>, %y: tensor<2xi64>) -> tensor<2xi64> {
      %1 = aten.div.Tensor_mode %x, %y {rounding_mode = "trunc"} : tensor<2xi64>
      func.return %1 : tensor<2xi64>
    }""")
    least, evaluator = -(2**63), Evaluator(module)
    assert evaluator.run([torch.tensor([least, 7]), torch.tensor([1, -2])])[0].tolist() == [least, -3]
    with pytest.raises(EvaluationFailed, match="'other': expected divisors other than -1"):
        evaluator.run([torch.tensor([least, 7]), torch.tensor([-1, -2])])


def test_numbers_in_the_place_of_tensors() -> None:
    """They have the element type that the op converts its operands to, where torch itself takes tensors alone."""
    module = parse("""func.func @forward(%x: tensor<2xf64>, %y: tensor<f32>, %z: tensor<2xui8>)
        -> (tensor<2xi1>, tensor<i1>, tensor<f32>, tensor<2xi1>) {
      %n = program.literal 3.000000e-01 : f64
      %m = program.literal 300 : i64
      %1 = aten.eq.Tensor %x, %n : (tensor<2xf64>, f64) -> tensor<2xi1>
      %2 = aten.eq.Tensor %y, %n : (tensor<f32>, f64) -> tensor<i1>
      %3 = aten.maximum %y, %n : (tensor<f32>, f64) -> tensor<f32>
      %4 = aten.eq.Tensor %z, %m : (tensor<2xui8>, i64) -> tensor<2xi1>
      func.return %1, %2, %3, %4 : tensor<2xi1>, tensor<i1>, tensor<f32>, tensor<2xi1>
    }""")
    x = torch.tensor([0.3, float(torch.tensor(0.3))], dtype=torch.float64)
    y, z = torch.tensor(0.3), torch.tensor([44, 7], dtype=torch.uint8)
    expected = [x == 0.3, y == 0.3, y.clamp(min=0.3), z == 300]
    for found, wanted in zip(Evaluator(module).run([x, y, z]), expected, strict=True):
        assert found.dtype is wanted.dtype
        assert torch.equal(found, wanted)


def test_a_result_of_another_type() -> None:
    module = parse("""func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
      %1 = aten.relu %x : tensor<4xf32>
      func.return %1 : tensor<4xf32>
    }""")
    with pytest.raises(
        EvaluationFailed, match=r"gives float64 \[4\], which is not of its type tensor<4xf32>"
    ):
        Evaluator(module).run([torch.ones(4, dtype=torch.float64)])


def test_a_number_of_inputs_that_does_not_fit() -> None:
    with pytest.raises(ValueError, match="forward takes 1 input, got 2"):
        Evaluator(parse(PARTITION)).run([torch.ones(4), torch.ones(4)])


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float8_e4m3fn"])
def test_inputs_of_rank_zero_as_arrays(dtype: str) -> None:
    element = {"float32": "f32", "bfloat16": "bf16", "float8_e4m3fn": "f8E4M3FN"}[dtype]
    module = parse(
        f"func.func @forward(%x: tensor<{element}>) -> tensor<{element}> {{ func.return %x : tensor<{element}> }}"
    )
    (found,) = Evaluator(module).run([np.array(1.5, getattr(ml_dtypes, dtype, np.float32))])
    assert found.shape == ()
    assert found.float().item() == 1.5


def test_an_endless_loop() -> None:
    module = parse(
        """
func.func @forward(%i: tensor<i64>, %p: tensor<i1>) -> tensor<i64> {
  %r = control.while (%i) : (tensor<i64>) -> (tensor<i64>) {
  ^bb0(%a: tensor<i64>):
    control.yield %p : tensor<i1>
  } do {
  ^bb0(%a: tensor<i64>):
    control.yield %a : tensor<i64>
  }
  func.return %r : tensor<i64>
}
"""
    )
    evaluator = Evaluator(module, limit=100)
    assert evaluator.run([torch.tensor(1), torch.tensor(False)]) == [torch.tensor(1)]
    with pytest.raises(EvaluationFailed, match="more than 100 ops"):
        evaluator.run([torch.tensor(1), torch.tensor(True)])
