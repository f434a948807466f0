"""Pools as maxima of taps compute the same bits, for every stride, padding, dilation and piece size."""

import itertools

import pytest
import torch
from support.aten_interpreter import Interpreter
from support.modules import parse, run


def _module(
    x: torch.Tensor, taps: list[int], stride: list[int], padding: list[int], dilation: list[int]
) -> str:
    expected = torch.nn.functional.max_pool2d(x, taps, stride, padding, dilation)
    image, result = ("x".join(map(str, tensor.shape)) for tensor in (x, expected))
    arguments = f"kernel_size = {taps}, stride = {stride}, padding = {padding}, dilation = {dilation}"
    types = f"(tensor<{image}xf32>) -> (tensor<{result}xf32>, tensor<{result}xi64>)"
    return f"""
    func.func @forward(%x: tensor<{image}xf32>) -> tensor<{result}xf32> {{
      %0, %1 = edge.max_pool2d_with_indices %x {{{arguments}}} : {types}
      func.return %0 : tensor<{result}xf32>
    }}"""


@pytest.mark.parametrize("workspace", [1, 40_000, 1 << 20])
def test_every_geometry(workspace: int) -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 24, 31, 29)
    x[0, 1, 3, 4] = float("nan")
    x[1, 2] = -float("inf")
    for taps, stride, padding, dilation in itertools.product(
        ([2, 2], [3, 2]), ([1, 1], [2, 3]), ([0, 0], [1, 1]), ([1, 1], [2, 1])
    ):
        module = parse(_module(x, taps, stride, padding, dilation))
        run(module, f"pools-to-maxima{{memory=any workspace={workspace}}},verify-edge")
        assert not any(op.name == "edge.max_pool2d_with_indices" for op in module.walk())
        expected = torch.nn.functional.max_pool2d(x, taps, stride, padding, dilation)
        torch.testing.assert_close(Interpreter(module).run(x)[0], expected, rtol=0, atol=0, equal_nan=True)
