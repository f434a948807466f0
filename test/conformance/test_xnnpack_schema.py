"""Blobs for the XNNPACK backend against stock's schema, compiler and runtime."""

from __future__ import annotations

import warnings
from importlib import resources
from pathlib import Path

import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import torch
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower
    from executorch.runtime import Runtime, Verification

from et_schema import generate
from et_schema.program import BackendDelegateInlineData, DataLocation
from et_schema.pte import read_pte, serialize_pte
from et_schema.xnnpack import read_xnnpack, serialize_xnnpack

pytestmark = pytest.mark.filterwarnings("ignore")


def test_schemas_agree() -> None:
    """Same tables, fields in the same order with the same types, same kinds of nodes and datatypes."""
    package = resources.files("executorch.backends.xnnpack.serialization")
    stock = generate.parse(Path(str(package / "runtime_schema.fbs")))
    ours = generate.parse(generate.HERE / "xnnpack.fbs")
    names = {
        "_XNNNode1x1": "Node1x1",
        "_XNNNode2x1": "Node2x1",
        "_XNNCat": "NodeCat",
        "_XNNNodeConv": "NodeConv",
        "_XNNPooling2D": "NodePooling2D",
    }

    def layout(schema: generate.Schema) -> dict[str, list[tuple[str, str, bool]]]:
        return {
            names.get(table.name, table.name): [(item.name, item.type, item.vector) for item in table.fields]
            for table in schema.tables.values()
        }

    assert layout(ours) == layout(stock)
    assert ours.root == stock.root
    assert ours.enums["XNNDatatype"].members == {
        name.removeprefix("xnn_datatype_"): number
        for name, number in stock.enums["XNNDatatype"].members.items()
    }
    # What has a number in one has it in the other: the order of a union's members counts.
    assert {name: list(union.members.items()) for name, union in ours.unions.items()} == {
        name: [(member, names.get(table, table)) for member, table in union.members.items()]
        for name, union in stock.unions.items()
    }
    written = generate.parse(Path(str(package / "schema.fbs")))
    assert ours.identifier == written.identifier


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
