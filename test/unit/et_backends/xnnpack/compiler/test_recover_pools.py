import pytest
from support.modules import parse
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from et_backends.xnnpack.compiler.recover_pools import recover_pools


def method_of(module: ModuleOp) -> FuncOp:
    return next(op for op in module.body.block.ops if isinstance(op, FuncOp))


def names(text: str) -> list[str]:
    module = parse(text)
    recover_pools(module)
    module.verify()
    return [op.name for op in method_of(module).body.block.ops]


def program(view: str, mean: str, shape: str, result: str) -> str:
    return f"""
    func.func @forward(%x: tensor<1x3x4x5xf32>) -> ({result}) {{
      %a = edge.view_copy %x {{size = {view}}} : (tensor<1x3x4x5xf32>) -> {shape}
      %b = edge.mean.dim %a {{dim = {mean}, keepdim = true}} : ({shape}) -> {result}
      func.return %b : {result}
    }}
    """


def test_a_mean_of_a_flattened_image_is_one_of_the_image():
    text = program("[1, 3, 20]", "[-1]", "tensor<1x3x20xf32>", "tensor<1x3x1xf32>")
    assert names(text) == ["edge.mean.dim", "edge.view_copy", "func.return"]


@pytest.mark.parametrize(
    ("view", "mean", "shape", "result"),
    [
        ("[1, 12, 5]", "[-1]", "tensor<1x12x5xf32>", "tensor<1x12x1xf32>"),
        ("[1, 3, 20]", "[1]", "tensor<1x3x20xf32>", "tensor<1x1x20xf32>"),
        ("[3, 20]", "[1]", "tensor<3x20xf32>", "tensor<3x1xf32>"),
    ],
)
def test_other_means_stay(view: str, mean: str, shape: str, result: str):
    expected = ["edge.view_copy", "edge.mean.dim", "func.return"]
    assert names(program(view, mean, shape, result)) == expected


def test_a_view_that_others_use_stays():
    text = """
    func.func @forward(%x: tensor<1x3x4x5xf32>) -> (tensor<1x3xf32>, tensor<1x3x20xf32>) {
      %a = edge.view_copy %x {size = [1, 3, 20]} : (tensor<1x3x4x5xf32>) -> tensor<1x3x20xf32>
      %b = edge.mean.dim %a {dim = [2]} : (tensor<1x3x20xf32>) -> tensor<1x3xf32>
      func.return %b, %a : tensor<1x3xf32>, tensor<1x3x20xf32>
    }
    """
    assert names(text) == ["edge.view_copy", "edge.mean.dim", "edge.view_copy", "func.return"]
