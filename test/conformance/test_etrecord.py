"""ETRecords both ways: stock's Inspector opens ours, and ours opens stock's, with the same rows and numeric gaps."""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
import torch
from example_models import build
from quantized_graphs import CASES, STEP
from torch import nn

from et_backends.codegen.object_code import INSTRUCTION_SETS
from et_backends.native.compiler import NativePartitioner
from et_backends.xnnpack.compiler.partitioner import XnnpackPartitioner
from et_ir import ExecutorchBackendConfig, to_edge_transform_and_lower
from et_ir.etrecord import parse_etrecord
from et_schema.errors import InvalidFile
from et_vm.backends.cpu import cpu_features
from et_vm.devtools.comparators import NumericalComparatorBase
from et_vm.devtools.inspector import Inspector
from et_vm.runtime import Runtime

pytestmark = pytest.mark.filterwarnings("ignore")  # of stock about itself

DISTANCES = ("MSE", "L1", "SNR")
HERE = next(name for name, one in INSTRUCTION_SETS.items() if cpu_features().issuperset(one.cpu_flags))
"""Instruction set of this machine."""
HIDDEN = ["debug_data", "raw"]
"""Columns of arrays, which test_etdump compares."""


class Layers(nn.Module):
    """Modules in modules, an operator with several results, and constants."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 8), nn.LayerNorm(8), nn.ReLU())
        self.head = nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = self.head(self.body(x)) * 2
        a, b = y.split([1, 3], dim=1)
        return a.exp(), torch.cat([b, b], 0), torch.softmax(y, -1)


class Images(nn.Module):
    """A convolution with statistics that are folded, and a mask by comparison."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.norm = nn.BatchNorm2d(4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.norm(self.conv(x)))
        return torch.where(y > 0.5, y, -y).mean([2, 3])


class Heads(nn.Module):
    """Dimensions that change places, which XNNPACK's nodes compute in another order."""

    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        heads = self.project(x).view(1, 6, 2, 4).transpose(1, 2)
        turned = torch.cat([-heads[..., 2:], heads[..., :2]], -1)
        return torch.softmax((heads * 2 + turned).abs(), -1)


SMALL: dict[str, Callable[[], tuple[nn.Module, tuple[torch.Tensor, ...]]]] = {
    "layers": lambda: (Layers().eval(), (torch.randn(5, 6),)),
    "images": lambda: (Images().eval(), (torch.randn(1, 3, 8, 8),)),
    "heads": lambda: (Heads().eval(), (torch.randn(1, 6, 8),)),
}
MODELS = [
    *("layers", "images", "heads"),
    *(
        pytest.param(name, marks=[pytest.mark.slow, pytest.mark.sweep])
        for name in ("digits", "mobilenet_v2", "bert", "llama", "vit")
    ),
]


def _program(name: str) -> tuple[torch.export.ExportedProgram, list[torch.Tensor]]:
    if name not in SMALL:
        model = build(name)
        return model.program, [torch.as_tensor(one) for one in model.inputs]
    torch.manual_seed(0)
    module, inputs = SMALL[name]()
    return torch.export.export(module, inputs), list(inputs)


def _recorded(
    runtime: Any, file: Path, inputs: list[torch.Tensor], folder: Path, **options: bool
) -> tuple[str, str]:
    program = runtime.load_program(str(file), enable_etdump=True, debug_buffer_size=1 << 29, **options)
    method = program.load_method("forward")
    method.execute(inputs)
    folder.mkdir(exist_ok=True)
    paths = str(folder / "run.etdp"), str(folder / "run.bin")
    program.write_etdump_result_to_file(*paths)
    return paths


def _stock_runtime() -> Any:
    from executorch.runtime import Runtime as StockRuntime

    return StockRuntime.get()


def _inspectors(paths: tuple[str, str], record: Path) -> tuple[Inspector, Any]:
    from executorch.devtools import Inspector as StockInspector

    given = {"etdump_path": paths[0], "debug_buffer_path": paths[1], "etrecord": str(record)}
    return Inspector(**given), StockInspector(**given)


def _same_rows(ours: Inspector, stock: Any) -> None:
    """The tables are the same."""
    mine, theirs = ours.to_dataframe(), stock.to_dataframe()
    assert list(mine.columns) == list(theirs.columns)
    # Of parts of a delegate that have one identifier, stock's keeps the last.
    alike = [len(one) == len(other) for one, other in zip(mine.start_time, theirs.start_time, strict=True)]
    for name in mine.columns:
        if name in HIDDEN:
            continue
        for at, (found, wanted) in enumerate(zip(mine[name], theirs[name], strict=True)):
            if not alike[at] and name not in ("event_name", "op_types"):
                continue
            if isinstance(wanted, float) and not math.isnan(wanted):
                assert found == pytest.approx(wanted, rel=1e-3, abs=1e-6), (name, at)
            elif name == "module_hierarchy":
                assert {key: dict(one) for key, one in found.items()} == wanted, at
            else:
                assert found == wanted or (pandas.isna(found) and pandas.isna(wanted)), (name, at)
    texts = []
    for one in (ours, stock):
        texts.append(io.StringIO())
        one.save_data_to_tsv(texts[-1])
    rows = [[line.split("\t")[:3] for line in text.getvalue().splitlines()] for text in texts]
    assert rows[0] == rows[1]


def _gaps(found: Any) -> dict[frozenset[int], tuple[list[str], list[float]]]:
    return {
        frozenset(row["aot_debug_handle"]): (sorted(row["aot_ops"]), row["gap"])
        for row in found.to_dict("records")
    }


def _equal(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-12) or (math.isnan(one) and math.isnan(other))


def _same_gaps(ours: Inspector, stock: Any, graph: str | None, distances: tuple[str, ...] = DISTANCES) -> int:
    """Where stock has a row, ours has the same; returns how many rows more there are."""
    counts = []
    for distance in distances:
        mine = _gaps(ours.calculate_numeric_gap(distance, reference_graph=graph))
        theirs = _gaps(stock.calculate_numeric_gap(distance, reference_graph=graph))
        assert theirs
        for handles, (ops, gap) in theirs.items():
            assert mine[handles][0] == ops
            # Of several results, stock compares one. The difference of infinities is NaN for both.
            assert any(_equal(gap[0], one) for one in mine[handles][1]), ops
        counts.append(len(mine) - len(theirs))
    return min(counts)


@pytest.mark.parametrize("backend", ["portable", "xnnpack"])
@pytest.mark.parametrize("name", MODELS)
def test_stock_opens_ours(name: str, backend: str, tmp_path: Path) -> None:
    """With executions on stock's runtime, where ours has the same gaps, and on ours, where parts of delegates have."""
    program, inputs = _program(name)
    partitioner = XnnpackPartitioner() if backend == "xnnpack" else None
    et = to_edge_transform_and_lower(program, partitioner=partitioner, generate_etrecord=True).to_executorch()
    file, record = tmp_path / "net.pte", tmp_path / "net.etrecord"
    et.save(file)
    et.get_etrecord().save(record)

    ours, stock = _inspectors(_recorded(_stock_runtime(), file, inputs, tmp_path / "stock"), record)
    _same_rows(ours, stock)
    distances = DISTANCES if name in SMALL else ("MSE",)
    assert _same_gaps(ours, stock, "edge_dialect_exported_program", distances) >= 0
    assert _same_gaps(ours, stock, "exported_program", distances) >= 0
    total = stock.find_total_for_module("")
    assert ours.find_total_for_module("") == pytest.approx(total, rel=1e-3)
    assert ours.find_total_for_module("no such module") == 0

    mine, theirs = _inspectors(_recorded(Runtime(), file, inputs, tmp_path / "ours"), record)
    _same_rows(mine, theirs)
    if backend == "portable":
        assert _same_gaps(mine, theirs, "exported_program", distances) >= 0
    # Of the exported program's nodes some were merged by passes, such as factors into weights.
    inside = mine.numeric_gaps("SNR", reference_graph="edge_dialect_exported_program")
    assert len(inside) >= len(ours.numeric_gaps("SNR", reference_graph="edge_dialect_exported_program"))
    if backend == "xnnpack":
        assert any(one.runtime_ops[0].startswith("node ") for one in inside)
    # Floats of 32 bits, in another order at most: 60 dB are three digits.
    # Of an operator that is several nodes of XNNPACK, the value may be in none of them.
    apart = [one.aot_ops for one in inside if any(gap <= 60 for gap in one.gap)]
    assert len(apart) <= (0 if name in SMALL else len(inside) // 20), apart


@pytest.mark.parametrize("name", MODELS)
def test_gaps_inside_machine_code(name: str, tmp_path: Path) -> None:
    """A row for each kernel whose value a node has, where code without values has one for a whole partition."""
    program, inputs = _program(name)
    rows: list[int] = []
    for values in (False, True):
        partitioner = NativePartitioner(instruction_sets=[HERE], values=values)
        et = to_edge_transform_and_lower(
            program, partitioner=partitioner, generate_etrecord=True
        ).to_executorch(ExecutorchBackendConfig(target="et-vm"))
        et.save(tmp_path / "net.pte")
        et.get_etrecord().save(tmp_path / "net.etrecord")
        paths = _recorded(Runtime(), tmp_path / "net.pte", inputs, tmp_path / "run", allow_native=True)
        ours = Inspector(paths[0], debug_buffer_path=paths[1], etrecord=tmp_path / "net.etrecord")
        gaps = ours.numeric_gaps("SNR", reference_graph="edge_dialect_exported_program")
        rows.append(len(gaps))
        apart = [one.aot_ops for one in gaps if any(gap <= 60 for gap in one.gap)]
        assert len(apart) <= (0 if name in SMALL else len(gaps) // 20), apart
    assert rows[1] > rows[0]


@pytest.mark.parametrize("backend", ["portable", "xnnpack"])
@pytest.mark.parametrize("name", SMALL)
def test_ours_opens_stocks(name: str, backend: str, tmp_path: Path) -> None:
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import (
        XnnpackPartitioner as StockPartitioner,
    )
    from executorch.exir import to_edge_transform_and_lower as stock_lower

    program, inputs = _program(name)
    partitioner = [StockPartitioner()] if backend == "xnnpack" else None
    et = stock_lower(program, partitioner=partitioner, generate_etrecord=True).to_executorch()
    file, record = tmp_path / "net.pte", tmp_path / "net.etrecord"
    et.save(str(file))
    made = et.get_etrecord()
    made.update_representative_inputs(inputs)
    made.update_reference_outputs([inputs])
    made.save(str(record))
    for runtime in (_stock_runtime(), Runtime()):
        paths = _recorded(runtime, file, inputs, tmp_path / type(runtime).__module__)
        ours, stock = _inspectors(paths, record)
        # Stock's file has no handles of parts of delegates, and stock's tool takes those of the whole for them.
        _same_rows(ours, stock)
        for graph in ("exported_program", "edge_dialect_exported_program"):
            _same_gaps(ours, stock, graph)


class Results(nn.Module):
    """Operators of several results, of which each backend computes some."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(6)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        var, mean = torch.var_mean(self.norm(x), -1)
        values, places = (x * 2).sort(-1)
        return var, mean, values + 1, places, *(x + 1).split(2, -1)


@pytest.mark.parametrize("graph", ["exported_program", "edge_dialect_exported_program"])
@pytest.mark.parametrize("backend", ["portable", "xnnpack", "native"])
def test_gaps_of_operators_with_several_results(backend: str, graph: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    inputs = [torch.randn(4, 6)]
    program = torch.export.export(Results().eval(), tuple(inputs))
    partitioners = {
        "portable": None,
        "xnnpack": XnnpackPartitioner(),
        "native": NativePartitioner(instruction_sets=[HERE], values=True),
    }
    et = to_edge_transform_and_lower(
        program, partitioner=partitioners[backend], generate_etrecord=True
    ).to_executorch(ExecutorchBackendConfig(target="et-vm"))
    et.save(tmp_path / "net.pte")
    et.get_etrecord().save(tmp_path / "net.etrecord")
    paths = _recorded(Runtime(), tmp_path / "net.pte", inputs, tmp_path / "run", allow_native=True)
    ours = Inspector(paths[0], debug_buffer_path=paths[1], etrecord=tmp_path / "net.etrecord")
    gaps = ours.numeric_gaps("L1", reference_graph=graph)
    assert any("layer_norm" in op for one in gaps for op in one.aot_ops)
    assert any("var" in op for one in gaps for op in one.aot_ops)
    assert max(gap for one in gaps for gap in one.gap) < 1e-4


class Rewritten(nn.Module):
    """Operators that passes merge, split and compute in another order: layers with statistics and factors behind them,
    images whose sizes are those of their channels, statistics of one operator, and convolutions by products.
    """

    def __init__(self) -> None:
        super().__init__()
        self.one = nn.Conv2d(3, 4, 3)
        self.norm = nn.BatchNorm2d(4)
        self.two = nn.Conv2d(4, 6, 3, padding=1)
        self.rows = nn.Conv1d(4, 5, 3)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = self.norm(self.one(x))
        z = self.two(y) * 2
        return (*torch.var_mean(y * 3, -1), torch.relu(z), self.rows(y.flatten(2)))


@pytest.mark.parametrize("graph", ["exported_program", "edge_dialect_exported_program"])
@pytest.mark.parametrize("backend", ["portable", "xnnpack", "native"])
def test_gaps_of_rewritten_operators(backend: str, graph: str, tmp_path: Path) -> None:
    """Each value is compared with that of the node that it is of, by stock's tool too, or with none."""
    torch.manual_seed(0)
    inputs = [torch.randn(1, 3, 6, 6)]
    module = Rewritten().eval()
    module.norm.running_mean = torch.randn(4)
    module.norm.running_var = torch.rand(4) + 0.5
    program = torch.export.export(module, tuple(inputs))
    partitioners = {
        "portable": None,
        "xnnpack": XnnpackPartitioner(),
        "native": NativePartitioner(instruction_sets=[HERE], values=True),
    }
    config = ExecutorchBackendConfig(target="et-vm") if backend == "native" else ExecutorchBackendConfig()
    et = to_edge_transform_and_lower(
        program, partitioner=partitioners[backend], generate_etrecord=True
    ).to_executorch(config)
    et.save(tmp_path / "net.pte")
    et.get_etrecord().save(tmp_path / "net.etrecord")
    paths = _recorded(Runtime(), tmp_path / "net.pte", inputs, tmp_path / "run", allow_native=True)
    ours, stock = _inspectors(paths, tmp_path / "net.etrecord")
    gaps = ours.numeric_gaps("SNR", reference_graph=graph)
    assert [(one.aot_ops, one.gap) for one in gaps if min(one.gap) < 60] == []
    compared = {op for one in gaps for op in one.aot_ops}
    expected = {"conv2d", "batch_norm", "conv2d_1", "mul", "var_mean", "conv1d", "relu"}
    if graph != "exported_program":
        expected = {"aten_convolution_default", "aten_convolution_default_1", "aten_relu_default"}
    assert expected <= compared
    theirs = stock.calculate_numeric_gap("SNR", reference_graph=graph).to_dict("records")
    assert [(one["aot_ops"], one["gap"]) for one in theirs if min(one["gap"]) < 60] == []


def test_gaps_of_quantized_layers(tmp_path: Path) -> None:
    """XNNPACK computes integers, which the runtime reports restored, and are compared with the restored ones."""
    torch.manual_seed(0)
    module, given = CASES["conv, ordinary sums, within bias, by channel"]()
    inputs = list(given)
    program = torch.export.export(module.eval(), tuple(inputs))
    et = to_edge_transform_and_lower(
        program, partitioner=XnnpackPartitioner(), generate_etrecord=True
    ).to_executorch()
    et.save(tmp_path / "net.pte")
    et.get_etrecord().save(tmp_path / "net.etrecord")
    paths = _recorded(Runtime(), tmp_path / "net.pte", inputs, tmp_path / "run")
    for one in _inspectors(paths, tmp_path / "net.etrecord"):
        rows = one.calculate_numeric_gap("MSE", reference_graph="edge_dialect_exported_program")
        gaps = [gap for row in rows.to_dict("records") for gap in row["gap"]]
        assert gaps
        assert max(gaps) <= STEP**2


def test_a_comparator_of_ones_own(tmp_path: Path) -> None:
    program, inputs = _program("layers")
    et = to_edge_transform_and_lower(program, generate_etrecord=True).to_executorch()
    file, record = tmp_path / "net.pte", tmp_path / "net.etrecord"
    et.save(file)
    made = et.get_etrecord()
    made.update_reference_outputs([[np.zeros(3)]])
    made.save(record)

    class Largest(NumericalComparatorBase):
        def preprocessing(self, mapping: Any) -> Any:
            assert self.inspector is not None
            return {key: value for key, value in mapping.items() if not isinstance(key[1], tuple)}

        def element_compare(self, a: Any, b: Any) -> float:
            return float((a - b).abs().max())

    ours, _ = _inspectors(_recorded(Runtime(), file, inputs, tmp_path), record)
    gaps = ours.numeric_gaps(Largest())
    assert {"linear", "layer_norm", "relu", "softmax"} <= {name for gap in gaps for name in gap.aot_ops}
    assert max(gap.gap[0] for gap in gaps) < 1e-5
    assert all("test_etrecord.py" in trace for gap in gaps for trace in gap.stacktraces.values() if trace)
    edge = ours.get_exported_program()
    assert edge is not None
    assert "aten.native_layer_norm.default" in {node.operator for node in edge.nodes()}
    parsed = parse_etrecord(record)
    assert parsed.representative_inputs is not None
    assert parsed.debug_handle_map == made.debug_handle_map


def test_a_record_of_another_program(tmp_path: Path) -> None:
    """Of ours, and of stock's, which does not say what instructions call."""
    paths: dict[str, tuple[tuple[str, str], Path]] = {}
    for name in SMALL:
        program, inputs = _program(name)
        et = to_edge_transform_and_lower(program, generate_etrecord=True).to_executorch()
        folder = tmp_path / name
        folder.mkdir()
        et.save(folder / "net.pte")
        record = et.get_etrecord()
        record.save(folder / "net.etrecord")
        record.operators = None
        record.save(folder / "plain.etrecord")
        paths[name] = _recorded(Runtime(), folder / "net.pte", inputs, folder), folder
    for one, other in (("layers", "images"), ("images", "layers")):
        for record in ("net.etrecord", "plain.etrecord"):
            with pytest.raises(InvalidFile, match="of another program: instruction"):
                Inspector(paths[one][0][0], etrecord=paths[other][1] / record)
        assert Inspector(paths[one][0][0], etrecord=paths[one][1] / "net.etrecord").event_blocks


class Sized(nn.Module):
    """A size of the input in an argument, and a buffer that is written."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.total += x.sum(0)
        return x.reshape(x.shape[0] * 2, -1) + self.total.sum()


def test_stock_reads_sizes_and_state(tmp_path: Path) -> None:
    from executorch.devtools.etrecord import parse_etrecord as stock_parse

    rows = torch.export.Dim("rows", min=2, max=16)
    program = torch.export.export(Sized(), (torch.randn(3, 4),), dynamic_shapes=({0: rows},))
    record = to_edge_transform_and_lower(program, generate_etrecord=True).to_executorch().get_etrecord()
    record.save(tmp_path / "net.etrecord")
    for size in (3, 5):
        x = torch.randn(size, 4)
        for name in ("exported_program", "edge_dialect_program"):
            # Runs write to the buffers that were read.
            graph = getattr(stock_parse(str(tmp_path / "net.etrecord")), name)
            torch.testing.assert_close(graph.module()(x), Sized()(x))
