"""Convolutions as products compute what convolutions compute, for every stride, padding, dilation and piece size."""

import itertools
from typing import Any

import pytest
import torch
from support.aten_interpreter import Interpreter
from support.modules import call, run

from et_ir.analysis.cost_model import CostModel
from et_ir.dialects.edge import ops as edge
from et_ir.targets.costs import CostTable, KernelCost
from et_ir.targets.lookup import DEFAULT, find_target


@pytest.fixture(autouse=True)
def slow_convolutions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each convolution that has another form takes it, whatever its size."""
    table = find_target(DEFAULT).costs
    assert table is not None
    slow = dict.fromkeys(("aten::convolution.out", "aten::convolution.out depthwise"), KernelCost(call=1e15))
    model = CostModel(CostTable("slow", {**table.kernels, **slow}))
    monkeypatch.setattr(CostModel, "of", staticmethod(lambda _target: model))


def check(
    x: torch.Tensor, w: torch.Tensor, b: torch.Tensor | None, *rest: Any, scratch: int = 1 << 20
) -> None:
    expected = torch.ops.aten.convolution(x, w, b, *rest)
    module, inputs = call("convolution", [x, w, b, *rest], expected)
    run(module, f"aten-to-edge,convolutions-to-products{{workspace={scratch} headroom=1000000}},verify-edge")
    assert not any(op.name == "edge.convolution" for op in module.walk())
    (found,) = Interpreter(module).run(*inputs)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("scratch", [1, 3000, 1 << 20])
def test_two_dimensions(scratch: int) -> None:
    torch.manual_seed(0)
    x, b = torch.rand(1, 3, 11, 9), torch.rand(4)
    for taps, stride, padding, dilation in itertools.product(
        [(1, 1), (3, 2)], [(1, 1), (2, 3)], [(0, 0), (2, 1)], [(1, 1), (2, 1)]
    ):
        check(x, torch.rand(4, 3, *taps), b, stride, padding, dilation, False, (0, 0), 1, scratch=scratch)


def test_one_dimension() -> None:
    torch.manual_seed(0)
    x = torch.rand(1, 3, 17)
    for taps, stride, padding, dilation in itertools.product([1, 3], [1, 2], [0, 2], [1, 2]):
        check(x, torch.rand(4, 3, taps), None, [stride], [padding], [dilation], False, [0], 1)


def test_double_precision_and_no_bias() -> None:
    x = torch.rand(1, 2, 5, 5, dtype=torch.float64)
    check(x, torch.rand(3, 2, 3, 3, dtype=torch.float64), None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)


@pytest.mark.parametrize("scratch", [1, 3000, 1 << 20])
@pytest.mark.parametrize(("groups", "outputs"), [(6, 6), (6, 12), (2, 4), (3, 3)])
def test_groups(groups: int, outputs: int, scratch: int) -> None:
    torch.manual_seed(0)
    x, b = torch.rand(1, 6, 9, 8), torch.rand(outputs)
    for taps, stride, padding in itertools.product([(1, 1), (3, 2)], [(1, 1), (2, 3)], [(0, 0), (2, 1)]):
        weight = torch.rand(outputs, 6 // groups, *taps)
        check(x, weight, b, stride, padding, (1, 1), False, (0, 0), groups, scratch=scratch)
    check(
        x,
        torch.rand(outputs, 6 // groups, 2, 2),
        None,
        [1, 1],
        [1, 0],
        [2, 1],
        False,
        [0, 0],
        groups,
        scratch=scratch,
    )


def test_without_memory_for_the_whole_image_with_its_padding() -> None:
    """Rows of it are copied for each piece, with the margins that they have."""
    torch.manual_seed(0)
    x = torch.rand(1, 3, 40, 20)
    pieces: list[int] = []
    for taps, stride, padding, dilation in itertools.product(
        [(3, 3), (3, 2)], [(1, 1), (2, 3)], [(1, 1), (2, 0)], [(1, 1), (2, 1)]
    ):
        weight = torch.rand(2, 3, *taps)
        rest = (None, stride, padding, dilation, False, (0, 0), 1)
        expected = torch.ops.aten.convolution(x, weight, *rest)
        module, inputs = call("convolution", [x, weight, *rest], expected)
        run(module, "aten-to-edge,convolutions-to-products{headroom=4000},verify-edge")
        (found,) = Interpreter(module).run(*inputs)
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
        names = [op.name for op in module.walk()]
        assert "edge.convolution" not in names
        pieces.append(names.count("edge.mm"))
        slices = [op for op in module.walk() if isinstance(op, edge.SliceCopyTensorOp)]
        assert len(slices) == pieces[-1], (taps, stride, padding, dilation)
    assert min(pieces) > 1
