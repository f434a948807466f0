"""Programs in other words compute the same."""

import itertools

import pytest
import torch
from support.aten_interpreter import Interpreter
from support.modules import call, parse, run


def text(shape: tuple[int, ...]) -> str:
    return f"tensor<{'x'.join(map(str, shape))}xf32>"


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (1, 3, 4, 5), (2, 1, 1, 5), (2, 3, 1, 5)])
def test_every_permutation_of_four_dimensions(shape: tuple[int, ...]) -> None:
    x = torch.rand(shape)
    for order in itertools.permutations(range(4)):
        expected = -x.relu().permute(order)
        before, after = text(shape), text(tuple(expected.shape))
        module = parse(f"""
        func.func @forward(%x: {before}) -> {after} {{
          %0 = edge.relu %x : {before}
          %1 = edge.permute_copy %0 {{dims = {list(order)}}} : ({before}) -> {after}
          %2 = edge.neg %1 : {after}
          func.return %2 : {after}
        }}""")
        run(module, "select-kernels,verify-edge")
        torch.testing.assert_close(Interpreter(module).run(x)[0], expected, rtol=0, atol=0)


def test_sum_and_product() -> None:
    b, x, w = torch.rand(32), torch.rand(16, 64), torch.rand(64, 32)
    expected = torch.addmm(b, x, w)
    module, inputs = call("addmm", [b, x, w], expected)
    run(module, "aten-to-edge,select-kernels,verify-edge")
    assert [op.name for op in module.walk() if op.name.startswith("edge")] == ["edge.mm", "edge.add.Tensor"]
    torch.testing.assert_close(Interpreter(module).run(*inputs)[0], expected)
