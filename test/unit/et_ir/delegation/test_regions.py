"""Regions of tags that a partitioner sets by itself."""

import pytest
from xdsl.dialects.func import FuncOp

from et_ir.backends import DelegationSpec, PartitionError, form_partitions, tag, tag_of
from et_ir.dialects.backend import PartitionOp
from et_ir.verification import verify_module

TEXT = """
func.func @forward(%x: tensor<4xf32>, %p: tensor<i1>) -> tensor<4xf32> {
  %a = edge.relu %x : tensor<4xf32>
  %b = edge.neg %a : tensor<4xf32>
  %c = edge.add.Tensor %a, %b : tensor<4xf32>
  %r = control.cond %p : tensor<i1> -> (tensor<4xf32>) {
    %d = edge.exp %c : tensor<4xf32>
    control.yield %d : tensor<4xf32>
  } else {
    control.yield %c : tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}
"""


@pytest.fixture
def method(parse):
    module = parse(TEXT)
    return next(op for op in module.walk() if isinstance(op, FuncOp))


def ops(method, *names):
    return [op for op in method.walk() if op.name in names]


def test_ops_of_one_tag_are_one_partition(method):
    tag(ops(method, "edge.relu", "edge.neg", "edge.add.Tensor"), "one")
    tag(ops(method, "edge.exp"), "two")
    (one, two) = form_partitions(method, {"one": DelegationSpec("A"), "two": DelegationSpec("B")})
    verify_module(method.parent_op())
    assert [one.backend.data, two.backend.data] == ["A", "B"]
    assert [op.name for op in one.body.block.ops] == [
        "edge.relu",
        "edge.neg",
        "edge.add.Tensor",
        "backend.yield",
    ]
    assert isinstance(two.parent_op(), type(ops(method, "control.cond")[0]))
    assert not any(tag_of(op) for op in method.walk())
    assert one.location == one.body.block.first_op.location


def test_a_circle_is_named(method):
    tag(ops(method, "edge.relu", "edge.add.Tensor"), "one")
    with pytest.raises(PartitionError) as caught:
        form_partitions(method, {"one": DelegationSpec("A")})
    (finding,) = caught.value.diagnostics
    assert finding.message.startswith(
        "[partition_t4] the partition 'one' needs 'edge.neg' (%b) needs the partition"
    )
    assert not ops(method, "backend.partition")


def test_two_partitions_that_need_each_other(parse):
    module = parse(
        """
        func.func @forward(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
          %a = edge.relu %x : tensor<4xf32>
          %b = edge.neg %x : tensor<4xf32>
          %c = edge.exp %b : tensor<4xf32>
          %d = edge.sin %a : tensor<4xf32>
          func.return %c, %d : tensor<4xf32>, tensor<4xf32>
        }
        """
    )
    method = next(op for op in module.walk() if isinstance(op, FuncOp))
    tag(ops(method, "edge.relu", "edge.exp"), "one")
    tag(ops(method, "edge.neg", "edge.sin"), "two")
    with pytest.raises(PartitionError, match="partition_t4"):
        form_partitions(method, {"one": DelegationSpec("A"), "two": DelegationSpec("A")})


def test_tags_that_cannot_be(method):
    tag(ops(method, "edge.relu", "edge.exp"), "one")
    tag(ops(method, "edge.neg"), "two")
    tag(ops(method, "func.return"), "three")
    with pytest.raises(PartitionError) as caught:
        form_partitions(method, {"one": DelegationSpec("A"), "three": DelegationSpec("A")})
    labels = [finding.message.split("]")[0] for finding in caught.value.diagnostics]
    assert labels == ["[partition_t1", "[partition_t3", "[partition_t2"]


def test_what_a_loop_uses_from_outside_comes_in(parse):
    module = parse(
        """
        program.parameter @w : tensor<4xf32> = #program.data<f32, [1.0, 2.0, 3.0, 4.0]>
        func.func @forward(%xs: tensor<3x4xf32>, %y: tensor<4xf32>) -> tensor<3x4xf32> {
          %w = program.get @w : tensor<4xf32>
          %s = control.map over (%xs) : (tensor<3x4xf32>) -> (tensor<3x4xf32>) {
          ^bb0(%x: tensor<4xf32>):
            %z = edge.add.Tensor %x, %y : tensor<4xf32>
            %v = edge.add.Tensor %z, %w : tensor<4xf32>
            control.yield %v : tensor<4xf32>
          }
          func.return %s : tensor<3x4xf32>
        }
        """
    )
    method = next(op for op in module.walk() if isinstance(op, FuncOp))
    tag(ops(method, "control.map"), "one")
    (one,) = form_partitions(method, {"one": DelegationSpec("A")})
    verify_module(module)
    assert len(one.inputs) == 2
    assert "program.get" in [op.name for op in one.body.block.ops]
    assert isinstance(one, PartitionOp)
    assert len(ops(method, "program.get")) == 1
