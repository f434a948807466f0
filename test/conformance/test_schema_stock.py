"""The file format against stock ExecuTorch: its schema, its parser, its writer and its runtime.

Both directions: stock reads what `et_schema` writes, and `et_schema` reads what stock writes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

with warnings.catch_warnings():
    # Importing torch and its companions warns about their own deprecations.
    warnings.simplefilter("ignore")
    import torch
    from executorch.exir import ExecutorchBackendConfig, to_edge
    from executorch.exir._serialize._cord import Cord
    from executorch.exir._serialize._flatbuffer_program import _flatbuffer_to_program
    from executorch.exir._serialize._program import deserialize_pte_binary
    from executorch.exir._serialize.data_serializer import DataEntry, DataPayload
    from executorch.exir.scalar_type import ScalarType as StockScalarType
    from executorch.exir.tensor import scalar_type_enum
    from executorch.exir.tensor_layout import TensorLayout as StockTensorLayout
    from executorch.extension.flat_tensor.serialize.serialize import FlatTensorSerializer
    from executorch.runtime import Runtime, Verification

import fbs

from et_schema import bundled_program, flat_tensor, program
from et_schema.program import DataLocation, Program, SubsegmentOffsets
from et_schema.ptd import read_ptd, serialize_ptd
from et_schema.pte import read_pte, serialize_pte
from et_schema.scalar_type import ScalarType

pytestmark = pytest.mark.filterwarnings("ignore")

FROZEN = Path(__file__).parents[1] / "unit" / "et_schema" / "frozen"


class Counter(torch.nn.Module):
    """A constant, a mutable buffer with an initial state, scalars, lists, several outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)
        self.register_buffer("count", torch.zeros(1))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        self.count.add_(1)
        return torch.relu(self.linear(x)).permute(1, 0), self.count + x.sum(dim=[0, 1]) * 0.5


class Pieces(torch.nn.Module):
    """Tensor lists and strings of int lists."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first, second = torch.split(x, 2, dim=1)
        return torch.cat([second, first, torch.nn.functional.pad(first, [1, 0])], dim=1)


class Branches(torch.nn.Module):
    """Jumps and moves."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x * 2, (x,))


MODELS: dict[str, Callable[[], torch.nn.Module]] = {
    "counter": Counter,
    "pieces": Pieces,
    "branches": Branches,
}
EXAMPLE = (torch.arange(8.0).reshape(2, 4) / 8,)


# With stack traces where stock can: its emit_stacktrace fails when the first node carries none.
CASES = [("counter", False), ("pieces", False), ("pieces", True), ("branches", False)]


@pytest.fixture(scope="module", params=CASES, ids=str)
def stock_file(request: pytest.FixtureRequest) -> tuple[torch.nn.Module, bytes]:
    """A model and the file that stock makes of it, without and with stack traces."""
    name, trace = request.param
    torch.manual_seed(0)
    model = MODELS[name]().eval()
    program = to_edge(torch.export.export(model, EXAMPLE))
    buffer = program.to_executorch(ExecutorchBackendConfig(emit_stacktrace=trace)).buffer
    return model, buffer


def tree(value: Any) -> Any:
    """Dataclasses of either side as nested plain values; absent and empty are the same."""
    if is_dataclass(value):
        return type(value).__name__, {item.name: tree(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, list | bytes | bytearray | memoryview):
        return [tree(item) for item in value] or None
    if isinstance(value, float):
        return np.float64(value).tobytes()
    return value if value != "" else None


def run(data: bytes, inputs: tuple[torch.Tensor, ...]) -> list[torch.Tensor]:
    program = Runtime.get().load_program(data, verification=Verification.InternalConsistency)
    return list(program.load_method("forward").execute(inputs))


def test_stock_reads_what_we_write() -> None:
    """The frozen file holds every table and every union member."""
    data = (FROZEN / "et12-builder.pte").read_bytes()
    ours = read_pte(data).program
    assert tree(_flatbuffer_to_program(data)) == tree(ours)


def test_stock_runtime_verifies_what_we_write() -> None:
    data = (FROZEN / "et12-builder.pte").read_bytes()
    program = Runtime.get().load_program(data, verification=Verification.InternalConsistency)
    assert program.method_names == {"forward"}


def test_we_read_what_stock_writes(stock_file: tuple[torch.nn.Module, bytes]) -> None:
    _, data = stock_file
    assert tree(read_pte(data).program) == tree(_flatbuffer_to_program(data))


def test_stock_reads_a_rewritten_file_as_the_same(stock_file: tuple[torch.nn.Module, bytes]) -> None:
    _, data = stock_file
    file = read_pte(data)
    again = serialize_pte(file.program, [[segment] for segment in file.segments])
    assert len(again) <= len(data)
    before, after = deserialize_pte_binary(data), deserialize_pte_binary(again)
    assert after == before


def test_stock_runs_a_rewritten_file_with_the_same_result(stock_file: tuple[torch.nn.Module, bytes]) -> None:
    model, data = stock_file
    file = read_pte(data)
    again = serialize_pte(file.program, [[segment] for segment in file.segments])
    results, expected = run(again, EXAMPLE), run(data, EXAMPLE)
    eager = model(*EXAMPLE)
    for result, stock, reference in zip(
        results, expected, eager if isinstance(eager, tuple) else (eager,), strict=True
    ):
        assert torch.equal(result, stock)
        torch.testing.assert_close(result, reference.detach())


def test_inline_constants_and_delegates_reach_the_runtime() -> None:
    """The layout of old files: stock's deserialiser moves the segments back into the flatbuffer."""
    data = (FROZEN / "et12-builder.pte").read_bytes()
    stock = deserialize_pte_binary(data).program
    file = read_pte(data)
    assert bytes(stock.constant_buffer[1].storage)[:20] == file.constant(1, 20)
    for ours, theirs in zip(
        file.program.execution_plan[0].delegates, stock.execution_plan[0].delegates, strict=True
    ):
        assert ours.processed is not None
        assert theirs.processed.location == DataLocation.INLINE
        restored = stock.backend_delegate_data[theirs.processed.index].data
        assert bytes(restored) == file.delegate_data(ours.processed)


@pytest.mark.parametrize(
    ("package", "source", "root", "identifier"),
    [
        ("exir._serialize", "program.fbs", Program, program.FILE_IDENTIFIER),
        (
            "extension.flat_tensor.serialize",
            "flat_tensor.fbs",
            flat_tensor.FlatTensor,
            flat_tensor.FILE_IDENTIFIER,
        ),
        (
            "devtools.bundled_program.serialize",
            "bundled_program_schema.fbs",
            bundled_program.BundledProgram,
            bundled_program.FILE_IDENTIFIER,
        ),
    ],
    ids=lambda value: value if str(value).endswith(".fbs") else "",
)
def test_schemas_agree(package: str, source: str, root: type, identifier: bytes) -> None:
    """Same tables, by slot the same fields with the same types and defaults, same unions and enumerations."""
    theirs = fbs.stock(f"executorch.{package}", source)
    declared = fbs.ours(root, identifier)
    assert declared.identifier == theirs.identifier
    assert declared.layouts == theirs.layouts
    assert declared.unions == theirs.unions
    # Ours also has the element types that no file holds.
    base, members = declared.enums.pop("ScalarType")
    stock_base, stock_members = theirs.enums.pop("ScalarType")
    assert base == stock_base
    assert stock_members.items() <= members.items()
    assert declared.enums == theirs.enums


def test_scalar_types_agree() -> None:
    """With torch on names and sizes, with stock on the numbers of those that it maps."""
    assert {item.value for item in StockScalarType} <= {item.value for item in ScalarType}
    mapped: set[ScalarType] = set()
    for item in ScalarType:
        dtype = getattr(torch, item.torch_name)
        assert dtype.itemsize == item.itemsize
        with suppress(KeyError):
            assert scalar_type_enum(dtype) == item
            mapped.add(item)
    assert len(mapped) >= 21


def test_ptd_both_ways() -> None:
    weights = np.arange(6, dtype=np.float32).tobytes()
    payload = DataPayload(
        buffers=[weights, b"blob"],
        named_data={
            "fc.weight": DataEntry(0, 16, StockTensorLayout(StockScalarType.FLOAT, [2, 3], [0, 1])),
            "blob": DataEntry(1, 1, None),
        },
    )
    stock = bytes(FlatTensorSerializer().serialize(payload))
    file = read_ptd(stock)
    assert file.named_data() == {"fc.weight": weights, "blob": b"blob"}
    assert file.tensors.named_data[0].tensor_layout == flat_tensor.TensorLayout(
        ScalarType.FLOAT, [2, 3], b"\x00\x01"
    )
    again = serialize_ptd(file.tensors, [[segment] for segment in file.segments])
    restored = FlatTensorSerializer().deserialize(Cord(again))
    assert [bytes(buffer) for buffer in restored.buffers] == payload.buffers
    assert {key: entry.tensor_layout for key, entry in restored.named_data.items()} == {
        key: entry.tensor_layout for key, entry in payload.named_data.items()
    }


def test_the_smallest_file_that_stock_loads() -> None:
    """Without the reserved constant the runtime takes it for an old file, with constants inside."""
    data = serialize_pte(Program(constant_segment=SubsegmentOffsets(0, [0])))
    program = Runtime.get().load_program(data, verification=Verification.InternalConsistency)
    assert program.method_names == set()
