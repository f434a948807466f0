"""Dynamic sizes, shared weights, halves and reasons of XNNPACK's partitions, on the stock runtime against eager.

Programs of all families of operators: test_programs.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from stock import StockRuntime
from torch.utils import _pytree as pytree

from et_backends.xnnpack.compiler.partitioner import XnnpackPartitioner
from et_ir import to_edge_transform_and_lower
from et_ir.driver.managers import EdgeProgramManager
from et_vm.runtime import Runtime

Outputs = list[torch.Tensor]
cond: Callable[..., Any] = torch.cond


def lowered(program: torch.nn.Module, inputs: Sequence[Any], **options: Any) -> EdgeProgramManager:
    exported = torch.export.export(program.eval(), tuple(inputs), **options)
    return to_edge_transform_and_lower(exported, partitioner=XnnpackPartitioner())


def eager(program: torch.nn.Module, inputs: Sequence[Any]) -> Outputs:
    with torch.no_grad():
        return pytree.tree_leaves(program(*inputs))


def run(manager: EdgeProgramManager, inputs: Sequence[Any], stock: StockRuntime, folder: Path) -> Outputs:
    path = folder / "program.pte"
    manager.to_executorch().save(path)
    return stock.run(path, inputs)


def left_out(manager: EdgeProgramManager) -> list[tuple[str, str]]:
    assert manager.delegation is not None
    return [(one.subject, one.notes[0].text) for one in manager.delegation.left_out]


def test_dynamic_batch_and_sequence(stock: StockRuntime, tmp_path: Path) -> None:
    """One file for all sizes up to the bound, also after a larger one."""

    class Tokens(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.query, self.key, self.value = (torch.nn.Linear(16, 16) for _ in range(3))
            self.norm = torch.nn.LayerNorm(16)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            scores = torch.softmax(self.query(x) @ self.key(x).transpose(1, 2), -1)
            return self.norm(x + scores @ self.value(x))

    program, inputs = Tokens(), (torch.randn(2, 6, 16),)
    sizes = {0: torch.export.Dim("batch", max=4), 1: torch.export.Dim("tokens", max=12)}
    manager = lowered(program, inputs, dynamic_shapes=(sizes,))
    assert left_out(manager) == []
    path = tmp_path / "program.pte"
    manager.to_executorch().save(path)
    for shape in ((2, 6, 16), (4, 12, 16), (2, 3, 16), (3, 7, 16)):
        x = (torch.randn(*shape),)
        torch.testing.assert_close(stock.run_on(path, x), eager(program, x), rtol=1e-3, atol=1e-4)


def test_dynamic_images(stock: StockRuntime, tmp_path: Path) -> None:
    program = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, 2, 1),
        torch.nn.BatchNorm2d(8),
        torch.nn.Hardswish(),
        torch.nn.MaxPool2d(2),
        torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.Flatten(),
        torch.nn.Linear(8, 5),
    )
    sizes = {0: torch.export.Dim("batch", max=4)}
    manager = lowered(program, (torch.randn(2, 3, 16, 16),), dynamic_shapes=(sizes,))
    assert left_out(manager) == []
    path = tmp_path / "program.pte"
    manager.to_executorch().save(path)
    for batch in (2, 4, 1):
        x = (torch.randn(batch, 3, 16, 16),)
        torch.testing.assert_close(stock.run_on(path, x), eager(program, x), rtol=1e-3, atol=1e-4)


class Layered(torch.nn.Module):
    """Uses a layer on both sides of what XNNPACK does not compute."""

    def __init__(self, layer: torch.nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(torch.erf(self.layer(x).tanh() * 0.5))


class Branches(torch.nn.Module):
    """Uses a layer in both branches."""

    def __init__(self, layer: torch.nn.Module) -> None:
        super().__init__()
        self.inner = layer

    def forward(self, x: torch.Tensor, p: torch.Tensor) -> torch.Tensor:
        def yes(x: torch.Tensor) -> torch.Tensor:
            return self.inner(x).relu()

        def no(x: torch.Tensor) -> torch.Tensor:
            return torch.erf(self.inner(x).tanh() * 0.5)

        return cond(p, yes, no, (x,)) + 1


def test_partitions_branches_and_methods_have_a_weight_once(stock: StockRuntime, tmp_path: Path) -> None:
    layer = torch.nn.Linear(64, 64)
    x = torch.randn(3, 64)
    calls: list[tuple[str, torch.nn.Module, tuple[torch.Tensor, ...]]] = [
        ("layered", Layered(layer), (x,)),
        ("branches", Branches(layer), (x, torch.tensor(True))),
        ("branches", Branches(layer), (x, torch.tensor(False))),
    ]
    exported = {name: torch.export.export(module.eval(), inputs) for name, module, inputs in calls}
    manager = to_edge_transform_and_lower(exported, partitioner=XnnpackPartitioner())
    assert manager.delegation is not None
    assert [method for method, _, _ in manager.delegation.partitions] == ["layered"] * 2 + ["branches"] * 3
    path = tmp_path / "program.pte"
    manager.to_executorch().save(path)
    for tensor in (layer.weight, layer.bias):
        assert path.read_bytes().count(tensor.detach().numpy().tobytes()) == 1
    program = Runtime.get().load_program(path, poison=True)
    for name, module, inputs in calls:
        wanted = eager(module, inputs)
        torch.testing.assert_close(stock.run(path, inputs, name), wanted, rtol=1e-3, atol=1e-4)
        torch.testing.assert_close(
            list(program.load_method(name).execute(inputs)), wanted, rtol=1e-3, atol=1e-4
        )


def test_half_precision(stock: StockRuntime, tmp_path: Path) -> None:
    program = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, 2, 1),
        torch.nn.ReLU(),
        torch.nn.Conv2d(8, 8, 3, groups=8),
        torch.nn.Hardswish(),
        torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.Flatten(),
        torch.nn.Linear(8, 5),
        torch.nn.Softmax(-1),
    ).half()
    x = (torch.randn(2, 3, 16, 16).half(),)
    manager = lowered(program, x)
    assert left_out(manager) == []
    torch.testing.assert_close(run(manager, x, stock, tmp_path), eager(program, x), rtol=1e-2, atol=2e-3)


def test_reasons() -> None:
    """Ops outside of the partitions are listed with XNNPACK's reason."""

    def program(x: torch.Tensor, n: torch.Tensor) -> tuple[torch.Tensor, ...]:
        pooled, places = torch.nn.functional.max_pool2d(x, 2, return_indices=True)
        return pooled, places, n * 3, torch.erfinv(x), x[..., ::2], torch.add(x, x, alpha=2)

    module = torch.nn.Module()
    module.forward = program  # pyright: ignore[reportAttributeAccessIssue]
    reasons = dict(left_out(lowered(module, (torch.rand(1, 2, 4, 4), torch.arange(3)))))
    assert reasons["edge.max_pool2d_with_indices"] == "element type: i64, it takes f32, f16"
    assert reasons["edge.slice_copy.Tensor"] == "a step: 2"
    assert reasons["edge.erfinv"] == "XNNPACK has no such node: erfinv"
    assert reasons["edge.add.Tensor"] == "alpha is not 1: 2"


def test_bounds_beyond_floats(stock: StockRuntime, tmp_path: Path) -> None:
    """They are infinite; torch exports programs with them, and refuses to run them."""
    module = torch.nn.Module()
    module.forward = lambda x: ((x * 2).clamp(max=1e300), x.clamp(-1e39, 1e39) + 1)  # pyright: ignore[reportAttributeAccessIssue]
    x = torch.tensor([-torch.inf, -3.0, 0.0, 3e38, torch.inf])
    manager = lowered(module, (x,))
    assert left_out(manager) == []
    method = Runtime().load_program(manager.to_executorch().buffer).load_method("forward")
    for results in (method.execute([x]), run(manager, (x,), stock, tmp_path)):
        for found, expected in zip(results, (x * 2, x + 1), strict=True):
            torch.testing.assert_close(torch.as_tensor(found), expected, rtol=0, atol=0)
