"""Recorded executions, and the inspection of them: names, times, values, and files that make no sense."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import numpy as np
import pytest
from support.vm_programs import chain_of_adds, kernels

from et_schema.errors import Error, ExecutorchError, InvalidFile
from et_schema.etdump import ETDump, read_etdump, serialize_etdump
from et_schema.etdump import Tensor as TensorEntry
from et_schema.etrecord import ETRecord
from et_schema.scalar_type import ScalarType, numpy_dtype
from et_vm.devtools.inspector import Inspector, PerfData, TimeScale
from et_vm.runtime import Program, Runtime


def load(length: int, *, debug_buffer_size: int = 0) -> Program:
    """A program that is recorded."""
    return Runtime().load_program(
        chain_of_adds(length).file(),
        kernels=kernels(),
        enable_etdump=True,
        debug_buffer_size=debug_buffer_size,
    )


@pytest.fixture
def recorded(tmp_path: Path) -> tuple[Path, Path]:
    """Two executions of a chain of three sums, with values."""
    program = load(3, debug_buffer_size=4096)
    assert not program.has_etdump()
    method = program.load_method("forward")
    for scale in (1, 2):
        method.execute([np.full(given.sizes(), scale, np.float32) for given in inputs_of(method)])
    assert program.has_etdump()
    paths = tmp_path / "run.etdp", tmp_path / "run.bin"
    program.write_etdump_result_to_file(str(paths[0]), str(paths[1]))
    return paths


def inputs_of(method: object) -> list[object]:
    meta = method.metadata  # pyright: ignore[reportAttributeAccessIssue]
    return [meta.input_tensor_meta(at) for at in range(meta.num_inputs())]


def test_events_of_executions(recorded: tuple[Path, Path]) -> None:
    path, buffer = recorded
    loading, execution = Inspector(path, debug_buffer_path=buffer).event_blocks
    assert [event.name for event in loading.events] == ["Method::init", "Program::load_method"]
    names = [event.name for event in execution.events]
    assert names == [*["native_call_add.out", "OPERATOR_CALL"] * 3, "Method::execute"]
    for event in execution.events:
        assert len(event.perf_data.raw) == len(event.start_time) == 2
        assert 0 <= event.perf_data.min <= event.perf_data.p50 <= event.perf_data.max
    whole = execution.events[-1].perf_data
    calls = [event.perf_data for event in execution.events if event.name == "OPERATOR_CALL"]
    assert sum(call.raw[0] for call in calls) <= whole.raw[0]


def test_values(recorded: tuple[Path, Path]) -> None:
    path, buffer = recorded
    execution = Inspector(path, debug_buffer_path=buffer).event_blocks[1]
    first = [event.debug_data[0] for event in execution.events[:-1:2]]
    # Each sum is of what came before and the same number.
    assert [float(value.flat[0]) for value in first] == sorted({float(value.flat[0]) for value in first})
    (output,) = execution.run_output
    np.testing.assert_array_equal(output, first[-1])
    assert Inspector(path).event_blocks[1].run_output == [None]


def test_units(recorded: tuple[Path, Path]) -> None:
    milliseconds = Inspector(recorded[0]).event_blocks[1].events[-1].perf_data.raw
    microseconds = (
        Inspector(recorded[0], target_time_scale=TimeScale.US).event_blocks[1].events[-1].perf_data.raw
    )
    assert microseconds == pytest.approx([1000 * one for one in milliseconds])
    with pytest.raises(ValueError, match="cycles cannot be converted to ms"):
        Inspector(recorded[0], source_time_scale=TimeScale.CYCLES)


def test_percentiles() -> None:
    times = PerfData([4.0, 0.0, 2.0])
    assert (times.p10, times.p50, times.p90) == pytest.approx((0.4, 2.0, 3.6))
    assert (times.avg, times.min, times.max) == (2.0, 0.0, 4.0)


def test_tables(recorded: tuple[Path, Path]) -> None:
    inspector = Inspector(recorded[0])
    text = io.StringIO()
    inspector.print_data_tabular(text)
    lines = text.getvalue().splitlines()
    assert lines[0].split()[:3] == ["block", "p10", "(ms)"]
    assert len(lines) == 1 + 2 + 7
    text = io.StringIO()
    inspector.save_data_to_tsv(text)
    rows = [line.split("\t") for line in text.getvalue().splitlines()]
    # A number, the block, the name, six times, and four columns more; not the calls of operators again.
    assert {len(row) for row in rows} == {13}
    assert rows[0][:4] == ["", "event_block_name", "event_name", "p10 (ms)"]
    assert [row[2] for row in rows[3:]] == [*["native_call_add.out"] * 3, "Method::execute"]


def test_without_pandas(recorded: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ExecutorchError, match="needs the package pandas"):
        Inspector(recorded[0]).to_dataframe()


def test_a_debug_buffer_that_is_too_small(tmp_path: Path) -> None:
    program = load(3, debug_buffer_size=70)
    method = program.load_method("forward")
    method.execute([np.ones(given.sizes(), np.float32) for given in inputs_of(method)])
    target = tmp_path / "run.etdp"
    with pytest.raises(ExecutorchError, match=r"debug_buffer_size=\d+") as caught:
        program.write_etdump_result_to_file(str(target), str(tmp_path / "run.bin"))
    assert caught.value.code is Error.OutOfResources
    assert not target.exists()
    size = int(str(caught.value).split("debug_buffer_size=")[1].split(",")[0])
    again = load(3, debug_buffer_size=size)
    method = again.load_method("forward")
    method.execute([np.ones(given.sizes(), np.float32) for given in inputs_of(method)])
    again.write_etdump_result_to_file(str(target), str(tmp_path / "run.bin"))
    assert (tmp_path / "run.bin").stat().st_size == size


def test_instances_have_records_of_their_own() -> None:
    program = load(1)
    other = program.instance()
    other.load_method("forward")
    assert other.has_etdump()
    assert not program.has_etdump()


def test_paths(recorded: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(ExecutorchError, match="cannot read") as caught:
        Inspector(tmp_path / "none.etdp")
    assert caught.value.code is Error.AccessFailed
    with pytest.raises(TypeError, match="one of etdump_path and etdump_data"):
        Inspector()
    program = load(1)
    program.load_method("forward")
    with pytest.raises(ExecutorchError, match="cannot write"):
        program.write_etdump_result_to_file(str(tmp_path / "no" / "x"), str(tmp_path / "y"))


def test_files_that_make_no_sense(recorded: tuple[Path, Path]) -> None:
    path, buffer = recorded
    dump = read_etdump(path.read_bytes())
    event = dump.run_data[0].events[0].profile_event
    assert event is not None
    event.start_time = event.end_time + 1
    with pytest.raises(InvalidFile, match="before"):
        Inspector(etdump_data=serialize_etdump(dump))
    buffer.write_bytes(buffer.read_bytes()[:-1])
    with pytest.raises(InvalidFile, match="is not in the debug buffer of"):
        Inspector(path, debug_buffer_path=buffer)


@pytest.mark.parametrize(
    ("sizes", "strides"),
    [([1 << 40, 1], [0, 0]), ([1] * 65, [1] * 65), ([0, 1 << 62, 1 << 62], [1, 1, 1])],
    ids=["in one place", "dimensions", "product"],
)
def test_tensors_that_no_buffer_has(
    recorded: tuple[Path, Path], sizes: list[int], strides: list[int]
) -> None:
    path, buffer = recorded
    dump, tensor = _with_a_tensor(path)
    tensor.sizes, tensor.strides = sizes, strides
    path.write_bytes(serialize_etdump(dump))
    with pytest.raises(InvalidFile, match=r"a tensor \[.*\]"):
        Inspector(path, debug_buffer_path=buffer)


@pytest.mark.parametrize(
    "dtype", [ScalarType.FLOAT8E5M2, ScalarType.FLOAT8E4M3FN, ScalarType.BFLOAT16], ids=str
)
def test_values_of_small_floats(recorded: tuple[Path, Path], dtype: ScalarType) -> None:
    path, buffer = recorded
    dump, tensor = _with_a_tensor(path)
    tensor.scalar_type, tensor.sizes, tensor.strides, tensor.offset = dtype, [2, 1], [1, 2], 0
    buffer.write_bytes(bytes([0x3C] * 4) + buffer.read_bytes()[4:])
    path.write_bytes(serialize_etdump(dump))
    values = [
        value
        for block in Inspector(path, debug_buffer_path=buffer).event_blocks
        for event in block.events
        for value in event.debug_data
        if value.dtype == numpy_dtype(dtype)
    ]
    # Of the instruction, and of its operator.
    assert [value.shape for value in values] == [(2, 1)] * 2
    assert len({float(one) for value in values for one in value.flat}) == 1
    assert not any(value.flags.writeable for value in values)


def _with_a_tensor(path: Path) -> tuple[ETDump, TensorEntry]:
    """An ETDump and the first tensor in it."""
    dump = read_etdump(path.read_bytes())
    entries = [one.debug_event for run in dump.run_data for one in run.events if one.debug_event is not None]
    return dump, next(one.debug_entry.tensor for one in entries if one.debug_entry and one.debug_entry.tensor)


def test_records_of_other_methods(recorded: tuple[Path, Path]) -> None:
    with pytest.raises(InvalidFile, match="no method forward: it has none"):
        Inspector(recorded[0], etrecord=ETRecord())
