"""Targets: weight stores, inputs, recorded executions, records of the compiler and debug maps."""

from __future__ import annotations

import io
import json
import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Final

import numpy as np
from support.vm_programs import chain_of_adds, kernels

from et_ir.data.store import StoreError, WeightStore
from et_schema.etdump import read_etdump, serialize_etdump
from et_schema.etrecord import ETRecord, RecordedProgram
from et_schema.scalar_type import ScalarType
from et_tools.exit_codes import UsageError
from et_tools.vm_inputs import method_inputs
from et_vm.devtools.debug_map import places_of_method, read_debug_map
from et_vm.devtools.inspector import Inspector
from et_vm.runtime import Runtime
from et_vm.state.files import read_tensors, write_tensors
from fuzz.documents import mutated_json, mutated_members, mutated_store, mutated_words, undated
from fuzz.mutations import UNWRITABLE, mutate_tables, mutated_bytes
from fuzz.targets import Case, Target

__all__ = ["TARGETS", "damage_arrays", "damage_dump", "damage_record", "debug_map", "etdump", "etrecord"]


def _stores(folder: Path) -> dict[str, bytes]:
    path = folder / "store.safetensors"
    write_tensors(
        path,
        {
            "w": np.arange(6, dtype=np.float32).reshape(2, 3),
            "empty": np.ones((0, 4), np.int64),
            "flags": np.array([True, False]),
            "one": np.array(3.0),
        },
    )
    return {"store": path.read_bytes()}


@cache
def _store() -> dict[str, bytes]:
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        return _stores(Path(folder))


def _read_store(case: Case, folder: Path) -> str:
    path = folder / "store.safetensors"
    path.write_bytes(case.content)
    failed: list[str] = []
    try:
        store = WeightStore(path)
        assert all(isinstance(name, str) for name in store.names)
    except StoreError:
        failed.append("StoreError")
    tensors = read_tensors(path)
    for array in tensors.values():
        array.copy()
    return "and ".join(["read", *failed])


# -- inputs


@dataclass
class _Signature:
    """A method with inputs of two types."""

    sizes: tuple[tuple[int, ...], ...] = ((2, 3), (4,))
    types: tuple[ScalarType, ...] = (ScalarType.FLOAT, ScalarType.BFLOAT16)

    def name(self) -> str:
        return "forward"

    def num_inputs(self) -> int:
        return len(self.sizes)

    def input_tag(self, index: int) -> str:
        del index
        return "Tensor"

    def input_tensor_meta(self, index: int) -> Any:
        return _Type(self.sizes[index], self.types[index])

    def input_value(self, index: int) -> None:
        del index


@dataclass
class _Type:
    of: tuple[int, ...]
    kind: ScalarType

    def sizes(self) -> tuple[int, ...]:
        return self.of

    def dtype(self) -> ScalarType:
        return self.kind


@cache
def _arrays() -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    arrays = {"a": np.ones((2, 3), np.float32), "b": np.zeros(4, np.uint16)}
    for name, save in (("npz", np.savez), ("npz compressed", np.savez_compressed)):
        stream = io.BytesIO()
        save(stream, **arrays)  # pyright: ignore[reportArgumentType]
        found[name] = undated(stream.getvalue())
    stream = io.BytesIO()
    np.save(stream, arrays["a"])
    return found | {"npy": stream.getvalue()}


_WORDS: Final = re.compile(r"[A-Za-z_]+|\d+|.", re.S)
_STRANGE: Final = (
    *(
        "99999999999999",
        "-1",
        "0",
        "(" * 300,
        "[('a', '<f4', (2**40,))]",
        "|O",
        "<U9",
        "|V99999999",
        ">c8",
        "None",
    ),
    *("True", "(2, 3", "<m8[7D]", "{}", "__import__('os').system('true')", "9" * 5000, "\0"),
)


def _mutated_array(data: bytes, random: Random) -> bytes:
    """A `.npy` file with other words in its header, the length of which is right."""
    if random.random() < 0.3 or data[:6] != b"\x93NUMPY":
        return mutated_bytes(data, random)
    length = int.from_bytes(data[8:10], "little")
    text = mutated_words(data[10 : 10 + length].decode("latin1"), random, _WORDS, _STRANGE)
    header = text.encode("latin1", "replace")[: 2**16 - 1]
    return data[:8] + len(header).to_bytes(2, "little") + header + data[10 + length :]


def damage_arrays(base: str, data: bytes, random: Random) -> bytes:
    """Damage to a `.npz` or a `.npy` file."""
    return _mutated_array(data, random) if base == "npy" else mutated_members(data, random, _mutated_array)


def _read_arrays(case: Case, folder: Path) -> str:
    path = folder / f"x.{case.base[:3]}"
    path.write_bytes(case.content)
    signature = _Signature() if case.base != "npy" else _Signature(((2, 3),), (ScalarType.FLOAT,))
    return f"{len(method_inputs(signature, [str(path)]))} inputs"


# -- recorded executions, and records of the compiler


@cache
def etdump() -> tuple[bytes, bytes]:
    """An ETDump of two executions, and the debug buffer with its values."""
    from tempfile import TemporaryDirectory

    program = Runtime().load_program(
        chain_of_adds(3).file(), kernels=kernels(), enable_etdump=True, debug_buffer_size=4096
    )
    method = program.load_method("forward")
    meta = method.metadata
    for _ in range(2):
        method.execute(
            [np.ones(meta.input_tensor_meta(at).sizes(), np.float32) for at in range(meta.num_inputs())]
        )
    with TemporaryDirectory() as folder:
        paths = [Path(folder, name) for name in ("run.etdp", "run.bin")]
        program.write_etdump_result_to_file(str(paths[0]), str(paths[1]))
        dump = read_etdump(paths[0].read_bytes())
        events = [event.profile_event for run in dump.run_data for event in run.events]
        for at, event in enumerate(filter(None, events)):
            # The same in each run.
            event.start_time, event.end_time = 10 * at, 10 * at + 7
        return serialize_etdump(dump), paths[1].read_bytes()


def damage_dump(base: str, data: bytes, random: Random) -> bytes:
    """Damage to the tables or bytes of an ETDump."""
    del base
    if random.random() < 0.3:
        return mutated_bytes(data, random)
    dump = read_etdump(data)
    for _ in range(random.choice((1, 1, 2, 4))):
        mutate_tables(dump, random)
    try:
        return serialize_etdump(dump)
    except UNWRITABLE:
        return mutated_bytes(data, random)


def _read_dump(case: Case, folder: Path) -> str:
    (folder / "run.bin").write_bytes(etdump()[1])
    path = folder / "run.etdp"
    path.write_bytes(case.content)
    _inspect(Inspector(path, debug_buffer_path=folder / "run.bin"))
    Inspector(path)
    return "read"


def _inspect(inspector: Inspector) -> None:
    for _ in inspector.rows(include_delegate_debug_data=True):
        pass
    text = io.StringIO()
    inspector.print_data_tabular(text)
    inspector.save_data_to_tsv(text)
    for block in inspector.event_blocks:
        for value in (*block.run_output, *(one for event in block.events for one in event.debug_data)):
            if isinstance(value, np.ndarray):
                value.copy()
    inspector.find_total_for_module("fc")


def _node(name: str, handle: int, **changes: Any) -> dict[str, Any]:
    return {
        "name": name,
        "target": "torch.ops.aten.add.Tensor",
        "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "x"}}, "kind": 1}],
        "outputs": [{"as_tensor": {"name": name}}],
        "metadata": {
            "debug_handle": str(handle),
            "stack_trace": 'File "net.py", line 3, in forward\n    x + x',
            "nn_module_stack": "L__self__,,Net;L__self__fc,fc,torch.nn.Linear",
            "from_node": json.dumps([{"name": name, "graph_id": 3, "from_node": []}]),
        },
    } | changes


@dataclass
class _Graph:
    nodes: list[dict[str, Any]] = field(default_factory=list)

    def program(self) -> RecordedProgram:
        graph = {
            "inputs": [{"as_tensor": {"name": "x"}}],
            "outputs": [{"as_tensor": {"name": "add"}}],
            "nodes": self.nodes,
            "tensor_values": {
                name: {"dtype": 7, "sizes": [{"as_int": 4}], "layout": 7} for name in ("x", "add")
            },
        }
        return RecordedProgram(
            {
                "graph_module": {"graph": graph},
                "schema_version": {"major": 5, "minor": 0},
                "range_constraints": {},
            }
        )


@cache
def etrecord() -> bytes:
    """A record of the compiler, of the executions of `etdump`."""
    handles = {str(at): at + 7 for at in range(3)}
    graph = _Graph([_node("add", 7), _node("add_1", 8), _node("add_2", 9)])
    stream = io.BytesIO()
    ETRecord(
        exported_program=graph.program(),
        edge_dialect_program={"forward": graph.program()},
        graph_map={"before/forward": _Graph().program()},
        debug_handle_map={"forward": dict(handles)},
        delegate_map={"forward": {"1": {"name": "Copy", "delegate_map": {"0": [7, 8]}}}},
        instruction_id_to_num_outs_map={"forward": {"0": 1}},
        operators={"forward": {str(at): "aten::add.out" for at in range(3)}},
        representative_inputs=b"12",
        export_graph_id=3,
    ).save(stream)
    return undated(stream.getvalue())


def damage_record(base: str, data: bytes, random: Random) -> bytes:
    """Damage to the members or bytes of an ETRecord."""
    del base
    return mutated_members(data, random, _mutated_member)


def _mutated_member(data: bytes, random: Random) -> bytes:
    return mutated_json(data, random) if data[:1] in (b"{", b"[", b"3") else mutated_bytes(data, random)


def _read_record(case: Case, folder: Path) -> str:
    (folder / "run.bin").write_bytes(etdump()[1])
    (folder / "run.etdp").write_bytes(etdump()[0])
    path = folder / "net.etrecord"
    path.write_bytes(case.content)
    _inspect(Inspector(folder / "run.etdp", debug_buffer_path=folder / "run.bin", etrecord=path))
    return "read"


# -- debug maps


@cache
def debug_map() -> bytes:
    """A debug map of the method `forward`, with a part of a delegate."""
    frame = {"file": "net.py", "line": 3, "function": "forward", "code": "x + x"}
    row = {
        "instruction": 0,
        "operator": "aten::add.out",
        "node": "add",
        "module": "encoder.fc",
        "source": [frame, frame],
    }
    part = {"node": "add", "module": "encoder.fc", "source": [frame]}
    delegate = {"backend": "XnnpackBackend", "identifiers": {"0": [part, part], "x": [part]}}
    rows = [row, row | {"instruction": 1, "source": []}, row | {"instruction": 2, "delegate": delegate}]
    return json.dumps({"forward": rows}).encode()


def _read_map(case: Case, folder: Path) -> str:
    path = folder / "map.json"
    path.write_bytes(case.content)
    for method in (*read_debug_map(path), "forward"):
        places_of_method(path, method)
    return "read"


TARGETS: Final = {
    "store": Target(_store, lambda _, data, random: mutated_store(data, random), _read_store, share=150),
    "arrays": Target(_arrays, damage_arrays, _read_arrays, share=150, errors=(UsageError,)),
    "etdump": Target(lambda: {"run": etdump()[0]}, damage_dump, _read_dump, share=150),
    "etrecord": Target(lambda: {"net": etrecord()}, damage_record, _read_record, share=150),
    "debug map": Target(
        lambda: {"map": debug_map()}, lambda _, data, random: mutated_json(data, random), _read_map, share=150
    ),
}
"""By name."""
