"""Raising of compiled programs from Python."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
import torch
from support.modules import parse
from torch import nn
from xdsl.utils.exceptions import PassFailedException

from et_ir import raise_program, to_edge
from et_ir.dialects.program import BufferOp, StoreOp
from et_ir.emit import write
from et_schema.errors import InvalidFile
from et_vm.runtime import Runtime

STOCK = Path(__file__).parents[3] / "fixtures" / "stock"


class Counter(nn.Module):
    """Adds up what it is given."""

    total: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.ones(2, 3))

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        self.total.add_(x)
        both = torch.cat([x, y])
        return both[1:3].relu() + self.total[0], self.total * 2


def run_twice(file: bytes, *inputs: np.ndarray) -> list[np.ndarray]:
    method = Runtime().load_program(file, poison=True).load_method("forward")
    return [np.array(one) for _ in range(2) for one in method.execute(list(inputs))]


def test_state_and_parts_of_tensors() -> None:
    inputs = torch.randn(2, 3), torch.randn(2, 3)
    file = to_edge(torch.export.export(Counter(), inputs)).to_executorch().buffer
    edge = raise_program(file)
    assert [op.key for op in edge.module.walk() if isinstance(op, BufferOp)] == ["total"]
    assert len([op for op in edge.module.walk() if isinstance(op, StoreOp)]) == 1
    again = edge.to_executorch().buffer
    given = [one.numpy() for one in inputs]
    for found, expected in zip(run_twice(again, *given), run_twice(file, *given), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_raising_again_changes_nothing() -> None:
    inputs = torch.randn(2, 3), torch.randn(2, 3)
    file = to_edge(torch.export.export(Counter(), inputs)).to_executorch().buffer
    once = raise_program(file)
    twice = raise_program(once.to_executorch().buffer)
    assert str(twice.module) == str(once.module)


def test_sizes_that_vary_together() -> None:
    class Sum(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.eye(2))

        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return ((x + y) @ self.weight).flatten()

    rows = torch.export.Dim("rows", max=8)
    exported = torch.export.export(
        Sum(), (torch.ones(3, 2), torch.ones(3, 2)), dynamic_shapes={"x": {0: rows}, "y": {0: rows}}
    )
    edge = raise_program(to_edge(exported).to_executorch().buffer)
    assert "s0" in str(edge.module)
    assert "s1" not in str(edge.module)
    method = Runtime().load_program(edge.to_executorch().buffer).load_method("forward")
    for count in (1, 5, 8):
        x = np.arange(count * 2, dtype=np.float32).reshape(count, 2)
        np.testing.assert_array_equal(method.execute([x, x])[0], (x + x).reshape(-1))


def test_methods_of_a_file_of_stock() -> None:
    edge = raise_program((STOCK / "methods.pte").read_bytes())
    assert edge.methods == {"forward", "pieces", "version", "scale", "name"}
    program = Runtime().load_program(edge.to_executorch().buffer)
    assert list(program.load_method("version").execute([])) == [3]
    assert list(program.load_method("name").execute([])) == ["net"]


@pytest.mark.parametrize("name", ["branch", "delegated", "dynamic", "methods", "pieces", "state"])
def test_a_file_of_stock_computes_the_same(name: str) -> None:
    file = (STOCK / f"{name}.pte").read_bytes()
    again = raise_program(file).to_executorch().buffer
    x = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)
    for found, expected in zip(run_twice(again, x), run_twice(file, x), strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


def test_constants_in_a_data_file() -> None:
    file = (STOCK / "external.pte").read_bytes()
    with pytest.raises(InvalidFile, match="which was not given"):
        raise_program(file)
    data = (STOCK / "_default_external_constant.ptd").read_bytes()
    again = raise_program(file, {"constants.ptd": data}).to_executorch().buffer
    x = np.ones((2, 3), np.float32)
    assert len(run_twice(again, x)) == 2


def test_a_damaged_file() -> None:
    with pytest.raises(InvalidFile):
        raise_program((STOCK / "branch.pte").read_bytes()[:500])


def test_an_input_without_a_bound() -> None:
    class Positive(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(x)

    from et_ir import ExecutorchBackendConfig

    exported = torch.export.export(
        Positive(), (torch.ones(3),), dynamic_shapes={"x": {0: torch.export.Dim("n")}}
    )
    config = ExecutorchBackendConfig(unbounded="runtime", target="et-vm")
    file = to_edge(exported).to_executorch(config).buffer
    with pytest.raises(PassFailedException, match=r"\[raise_c4\]"):
        raise_program(file)


@pytest.mark.parametrize("operator", ["mod.Scalar", "mod.int", "floordiv.int"])
def test_divisions_towards_zero(operator: str) -> None:
    """The compiler divides integers downwards only; files of others do not."""
    module = parse(
        "executorch.plan @forward {arenas = array<i64: 16>} {"
        "%x = executorch.input {memory_id = 1, offset = 0} : tensor<i64> "
        "%y = executorch.input {memory_id = 1, offset = 8} : tensor<i64> "
        "%n = executorch.value 0 : i64 %m = executorch.value 0 : i64 %r = executorch.value 0 : i64 "
        'executorch.kernel_call "aten::_local_scalar_dense"(%x) returns(%n) '
        'executorch.kernel_call "aten::_local_scalar_dense"(%y) returns(%m) '
        f'executorch.kernel_call "executorch_prim::{operator}"(%n, %m) returns(%r) '
        "executorch.return %r }"
    )
    stream = io.BytesIO()
    write(module, stream)
    file = stream.getvalue()
    again = raise_program(file).to_executorch().buffer
    methods = [Runtime().load_program(one).load_method("forward") for one in (file, again)]
    for a in (-7, -6, -1, 0, 1, 6, 7):
        for b in (-4, -3, -1, 1, 2, 3):
            quotient = int(a / b)
            expected = quotient if operator == "floordiv.int" else a - quotient * b
            for method in methods:
                assert method.execute([np.array(a), np.array(b)])[0] == expected
