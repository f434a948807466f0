"""Preserved operators: those that backends take undecomposed."""

import pytest
import torch

from et_backends.nested.compiler import NestedPartitioner
from et_ir import to_edge_transform_and_lower
from et_ir.backends import BackendError, KeptOperators
from et_ir.diagnostics import PassReport


class TwoLayers(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.small = torch.nn.Linear(4, 8)
        self.large = torch.nn.Linear(8, 16)

    def forward(self, x):
        return self.large(self.small(x).relu())


class Wants(NestedPartitioner):
    """Wants linear layers whole, or those of a size, and takes nothing else, or nothing at all."""

    def __init__(self, keep=None, *, takes=("linear",), names=("linear",)):
        super().__init__(only=takes)
        self.keep = keep
        self.names = names

    def ops_to_not_decompose(self):
        return self.names, self.keep


def names(manager):
    """The ops of the program, and those that were delegated."""
    return [op.name for op in manager.module.walk() if op.name.startswith(("edge.", "backend.call"))]


@pytest.fixture
def exported():
    return torch.export.export(TwoLayers(), (torch.ones(2, 4),))


def test_what_is_kept_is_delegated(exported):
    found = to_edge_transform_and_lower(exported, partitioner=Wants(names=[torch.ops.aten.linear.default]))
    assert names(found) == ["backend.call", "edge.relu", "backend.call"]


def test_what_no_partition_takes_is_decomposed_after_all(exported):
    found = to_edge_transform_and_lower(exported, partitioner=[Wants(takes=["relu"])])
    assert names(found) == ["edge.mm", "edge.add.Tensor", "backend.call", "edge.mm", "edge.add.Tensor"]


def test_what_it_comes_down_to_may_be_taken(exported):
    found = to_edge_transform_and_lower(
        exported, partitioner={"forward": Wants(takes=["relu", "mm", "add.Tensor"])}
    )
    assert names(found) == ["backend.call"]
    assert found.delegation.delegated == 5


def test_methods_that_nobody_partitions(exported):
    """An operator preserved for one method's partitioner is decomposed in the others."""
    found = to_edge_transform_and_lower({"a": exported, "b": exported}, partitioner={"b": [Wants()]})
    decomposed = ["edge.mm", "edge.add.Tensor", "edge.relu", "edge.mm", "edge.add.Tensor"]
    assert names(found) == [*decomposed, "backend.call", "edge.relu", "backend.call"]


def test_a_filter_says_which(exported):
    wants = Wants(lambda op: op.result.type.get_shape()[-1] == 16)
    found = to_edge_transform_and_lower(exported, partitioner=wants)
    assert names(found) == ["edge.mm", "edge.add.Tensor", "edge.relu", "backend.call"]


def test_an_operator_that_there_is_not():
    with pytest.raises(
        ValueError, match=r"Wants\.ops_to_not_decompose: unknown operator 'liner', did you mean"
    ):
        KeptOperators.of(Wants(names=["liner"]))


def test_a_partitioner_that_says_something_else():
    class Upstreams(NestedPartitioner):
        def ops_to_not_decompose(self, ep):
            return [], None

    class Alone(NestedPartitioner):
        def ops_to_not_decompose(self):
            return ["linear"]

    for partitioner in (Upstreams(), Alone()):
        with pytest.raises(BackendError, match=r"operators and a filter: (Type|Value)Error"):
            KeptOperators.of(partitioner)


def test_a_filter_that_raises(exported):
    with pytest.raises(
        PassReport, match=r"test_kept.py:\d+.*a filter of ops_to_not_decompose raised ZeroDivision"
    ):
        to_edge_transform_and_lower(exported, partitioner=Wants(lambda op: 1 / 0))
