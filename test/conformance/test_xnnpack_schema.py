"""Blobs for the XNNPACK backend against stock's schema, compiler and runtime."""

from __future__ import annotations

import warnings

import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import torch
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower
    from executorch.runtime import Runtime, Verification

import fbs

from et_backends.xnnpack.format.blob import read_xnnpack, serialize_xnnpack
from et_backends.xnnpack.format.graph import FILE_IDENTIFIER, XNNGraph
from et_schema.program import BackendDelegateInlineData, DataLocation
from et_schema.pte import read_pte, serialize_pte

pytestmark = pytest.mark.filterwarnings("ignore")


def test_schemas_agree() -> None:
    """Same tables, by slot the same fields with the same types, same kinds of nodes and datatypes."""
    package = "executorch.backends.xnnpack.serialization"
    theirs = fbs.stock(package, "runtime_schema.fbs")
    # Nothing writes or reads it.
    assert theirs.layouts["XNNGraph"].pop(7)[0] == "mem_buffer_sizes"
    declared = fbs.ours(XNNGraph, FILE_IDENTIFIER)
    assert declared.layouts == {
        name: {
            slot: (
                *item[:2],
                item[2].removeprefix("xnn_datatype_") if isinstance(item[2], str) else item[2],
                item[3],
            )
            for slot, item in layout.items()
        }
        for name, layout in theirs.layouts.items()
    }
    assert declared.unions == theirs.unions
    base, members = theirs.enums["XNNDatatype"]
    assert declared.enums == {
        "XNNDatatype": (
            base,
            {name.removeprefix("xnn_datatype_"): number for name, number in members.items()},
        )
    }
    assert declared.identifier == fbs.stock(package, "schema.fbs").identifier


class Small(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convolution = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.linear = torch.nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pooled = torch.relu(self.convolution(x)).mean((2, 3))
        return torch.softmax(self.linear(pooled), -1)


def test_stock_runs_a_blob_written_again_with_the_same_result() -> None:
    torch.manual_seed(0)
    inputs = (torch.randn(1, 3, 16, 16),)
    program = torch.export.export(Small().eval(), inputs)
    stock = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()]).to_executorch().buffer
    file = read_pte(stock)
    delegates = file.program.execution_plan[0].delegates
    assert {delegate.id for delegate in delegates} == {"XnnpackBackend"}
    for delegate in delegates:
        assert delegate.processed is not None
        blob = read_xnnpack(file.delegate_data(delegate.processed))
        again = serialize_xnnpack(blob.graph, [blob.constants])
        assert read_xnnpack(again).graph == blob.graph
        delegate.processed.location = DataLocation.INLINE
        delegate.processed.index = len(file.program.backend_delegate_data)
        file.program.backend_delegate_data.append(BackendDelegateInlineData(again))
    ours = serialize_pte(file.program, [[segment] for segment in file.segments])

    def run(data: bytes) -> torch.Tensor:
        loaded = Runtime.get().load_program(data, verification=Verification.InternalConsistency)
        return loaded.load_method("forward").execute(inputs)[0]

    assert torch.equal(run(ours), run(stock))
