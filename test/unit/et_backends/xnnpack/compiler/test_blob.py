"""XNNPACK nodes of lowered programs.

The tests show what is fused, what is moved, and what is not.
"""

import pytest
from support.modules import parse

from et_backends.xnnpack.compiler.blob import XnnpackBackend, translate
from et_backends.xnnpack.format.blob import read_xnnpack
from et_backends.xnnpack.format.graph import XNNFullyConnected, XNNStaticTranspose
from et_backends.xnnpack.format.nodes import kind_name, tensor_of


def kinds(text: str) -> list[str]:
    made = translate(parse(text))
    return [kind_name(node.xnode_union) for node in made.graph.nodes if node.xnode_union]


ATTRIBUTES = (
    "stride = [1, 1], padding = [0, 0], dilation = [1, 1], transposed = false, output_padding = [0, 0], "
    "groups = 1"
)
TYPE = "(tensor<1x3x5x5xf32>, tensor<4x3x1x1xf32>) -> tensor<1x4x5x5xf32>"
CONVOLVED = f"%c = edge.convolution %x, %w {{{ATTRIBUTES}}} : {TYPE}"
CONVOLUTION = """
program.parameter @w : tensor<4x3x1x1xf32> = #program.data<f32, [1., 2., 3., 4., 5., 6., 7., 8., 9., 10., 11., 12.]>
func.func @forward(%x: tensor<1x3x5x5xf32>) -> (RESULT) {
  %w = program.get @w : tensor<4x3x1x1xf32>
  CONVOLVED
  BODY
}
"""


def convolution(body: str, result: str = "tensor<1x4x5x5xf32>") -> str:
    text = CONVOLUTION.replace("CONVOLVED", CONVOLVED)
    return text.replace("BODY", body).replace("RESULT", result)


def test_images_are_moved_once_on_each_side():
    body = "%r = edge.sigmoid %c : tensor<1x4x5x5xf32>\n func.return %r : tensor<1x4x5x5xf32>"
    assert kinds(convolution(body)) == [
        "StaticTranspose",
        "Conv2d",
        "Sigmoid",
        "StaticTranspose",
    ]


def test_an_activation_is_part_of_the_node_before():
    body = "%r = edge.relu %c : tensor<1x4x5x5xf32>\n func.return %r : tensor<1x4x5x5xf32>"
    made = translate(parse(convolution(body)))
    clamps = [node.output_min_max for node in made.graph.nodes]
    assert [clamp is not None for clamp in clamps] == [False, True, False]
    assert clamps[1] is not None
    assert clamps[1].output_min == 0.0


def test_an_activation_of_what_is_used_elsewhere_is_not():
    body = """%r = edge.relu %c : tensor<1x4x5x5xf32>
    %s = edge.add.Tensor %r, %c {alpha = 1} : tensor<1x4x5x5xf32>
    func.return %s : tensor<1x4x5x5xf32>"""
    assert kinds(convolution(body)) == ["StaticTranspose", "Conv2d", "Clamp", "Add", "StaticTranspose"]


def test_a_permutation_to_channels_last_moves_nothing():
    body = """%r = edge.permute_copy %c {dims = [0, 2, 3, 1]} : (tensor<1x4x5x5xf32>) -> tensor<1x5x5x4xf32>
    func.return %r : tensor<1x5x5x4xf32>"""
    assert kinds(convolution(body, "tensor<1x5x5x4xf32>")) == ["StaticTranspose", "Conv2d", "Copy"]


def test_filters_have_their_channels_last():
    body = "func.return %c : tensor<1x4x5x5xf32>"
    made = translate(parse(convolution(body)))
    graph = made.graph.finish()
    dims = [t.dims for value in graph.xvalues if (t := tensor_of(value)) and t.constant_buffer_idx]
    assert dims == [[4, 1, 1, 3]]


def test_two_transpositions_are_one():
    text = """
    func.func @forward(%x: tensor<2x3x4xf32>) -> (tensor<4x3x2xf32>) {
      %a = edge.permute_copy %x {dims = [1, 2, 0]} : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
      %b = edge.neg %a : tensor<3x4x2xf32>
      %c = edge.permute_copy %b {dims = [1, 0, 2]} : (tensor<3x4x2xf32>) -> tensor<4x3x2xf32>
      func.return %c : tensor<4x3x2xf32>
    }
    """
    assert kinds(text) == ["Negate", "StaticTranspose"]
    node = translate(parse(text)).graph.nodes[1].xnode_union
    assert isinstance(node, XNNStaticTranspose)
    assert node.perm == [2, 1, 0]


def test_a_mean_over_a_flattened_image_is_a_pool():
    text = """
    func.func @forward(%x: tensor<1x3x4x5xf32>) -> (tensor<1x3xf32>) {
      %a = edge.view_copy %x {size = [1, 3, 20]} : (tensor<1x3x4x5xf32>) -> tensor<1x3x20xf32>
      %b = edge.mean.dim %a {dim = [-1]} : (tensor<1x3x20xf32>) -> tensor<1x3xf32>
      func.return %b : tensor<1x3xf32>
    }
    """
    result = XnnpackBackend.preprocess(parse(text), ())
    assert isinstance(result.processed_bytes, bytes)
    nodes = read_xnnpack(result.processed_bytes).graph.xnodes
    found = [kind_name(node.xnode_union) for node in nodes if node.xnode_union]
    assert found == ["StaticTranspose", "GlobalAvgPooling2d", "StaticReshape"]


def test_the_second_factor_is_read_turned():
    text = """
    func.func @forward(%x: tensor<2x3x4xf32>, %y: tensor<2x5x4xf32>) -> (tensor<2x3x5xf32>) {
      %t = edge.permute_copy %y {dims = [0, 2, 1]} : (tensor<2x5x4xf32>) -> tensor<2x4x5xf32>
      %b = edge.bmm %x, %t : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
      func.return %b : tensor<2x3x5xf32>
    }
    """
    assert kinds(text) == ["BatchMatrixMultiply"]


def test_identifiers_lead_to_the_ops():
    text = """
    func.func @forward(%x: tensor<2x4xf32>) -> (tensor<2x1xf32>) {
      %a = edge.mean.dim %x {dim = [-1], keepdim = true} : (tensor<2x4xf32>) -> tensor<2x1xf32>
      func.return %a : tensor<2x1xf32>
    }
    """
    result = XnnpackBackend.preprocess(parse(text), ())
    assert isinstance(result.processed_bytes, bytes)
    (node,) = read_xnnpack(result.processed_bytes).graph.xnodes
    assert isinstance(node.xnode_union, XNNFullyConnected)
    assert list(result.debug_handle_map) == [f"node {node.debug_handle}"]


def test_what_has_no_rule_is_named():
    text = """
    func.func @forward(%x: tensor<2xf32>) -> (tensor<2xf32>) {
      %a = edge.erf %x : tensor<2xf32>
      func.return %a : tensor<2xf32>
    }
    """
    with pytest.raises(ValueError, match=r"XNNPACK has no node for edge\.erf"):
        translate(parse(text))
