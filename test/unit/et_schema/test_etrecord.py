"""ETRecord files that are damaged, or none at all."""

from __future__ import annotations

import io
import json
import tracemalloc
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from et_schema.errors import Error, ExecutorchError, InvalidFile
from et_schema.etrecord import ETRecord, RecordedProgram, read_etrecord

NODE = {
    "name": "add",
    "target": "torch.ops.aten.add.Tensor",
    "inputs": [],
    "outputs": [{"as_tensor": {"name": "add"}}],
    "metadata": {
        "debug_handle": "7",
        "nn_module_stack": "L__self__,,Net;L__self__fc,fc,torch.nn.Linear",
        "from_node": json.dumps([{"name": "add", "graph_id": 3, "from_node": []}]),
    },
}


def program(*nodes: dict[str, Any], version: int = 5) -> RecordedProgram:
    return RecordedProgram(
        {
            "graph_module": {
                "graph": {"inputs": [], "outputs": [], "nodes": list(nodes), "tensor_values": {}}
            },
            "schema_version": {"major": version, "minor": 0},
        }
    )


def saved(record: ETRecord) -> bytes:
    stream = io.BytesIO()
    record.save(stream)
    return stream.getvalue()


def record() -> ETRecord:
    return ETRecord(
        edge_dialect_program={"forward": program(NODE), "step": program()},
        graph_map={"before/forward": program()},
        debug_handle_map={"forward": {"0": 7, "1": [7, 8]}},
        delegate_map={"forward": {}},
        instruction_id_to_num_outs_map={"forward": {}},
        operators={"forward": {"0": "aten::add.out"}},
        representative_inputs=b"12",
        export_graph_id=3,
    )


def changed(data: bytes, **members: bytes | None) -> bytes:
    """The file with other members, or without some."""
    source, stream = zipfile.ZipFile(io.BytesIO(data)), io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name in source.namelist():
            content = members.get(name.replace("/", "__"), source.read(name))
            if content is not None:
                archive.writestr(name, content)
    return stream.getvalue()


def test_round_trip(tmp_path: Path) -> None:
    one = record()
    one.save(tmp_path / "net.etrecord")
    found = read_etrecord(tmp_path / "net.etrecord")
    assert found == one
    (node,) = found.edge_dialect_program["forward"].nodes()
    assert (node.name, node.operator, node.handle) == ("add", "aten.add.Tensor", 7)
    assert node.modules == {"L__self__": ("", "Net"), "L__self__fc": ("fc", "torch.nn.Linear")}
    assert node.origins == (("add", 3),)
    assert found.copy().debug_handle_map is None


def test_what_is_needed() -> None:
    for one in (ETRecord(), ETRecord(edge_dialect_program={"forward": program()})):
        with pytest.raises(ValueError, match="needs an edge program"):
            saved(one)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"PK nothing", "not an ETRecord"),
        (changed(saved(record()), ETRECORD_V0=None), "no member ETRECORD_V0"),
        (changed(saved(record()), debug_handle_map=b"{"), "damaged"),
        (changed(saved(record()), debug_handle_map=b"[]"), "not a JSON object"),
        (changed(saved(record()), delegate_map=b'{"forward": 3}'), "without a map"),
        (changed(saved(record()), delegate_map=b'{"forward": {"0": 3}}'), "without a map"),
        (
            changed(saved(record()), delegate_map=b'{"forward": {"0": {"delegate_map": [1]}}}'),
            "without a map",
        ),
        *(
            (
                changed(saved(record()), delegate_map=b'{"forward": {"0": {"orders": %b}}}' % orders),
                "not orders of dimensions",
            )
            for orders in (b"3", b'{"a": 3}', b'{"a": [0, 2]}', b'{"a": [true, 0]}', b'{"a": [null]}')
        ),
        (changed(saved(record()), debug_handle_map=b'{"forward": {"0": [[1]]}}'), "not debug handles"),
        (changed(saved(record()), debug_handle_map=b'{"et_ir.operators": [1]}'), "without a map"),
        (changed(saved(record()), debug_handle_map=b'{"et_ir.operators": {"f": {"0": 1}}}'), "not a name"),
        (changed(saved(record()), edge_dialect_exported_program__forward=b"{}"), "lacks 'schema_version'"),
        (changed(saved(record()), edge_dialect_exported_program__forward_constants=None), "lacks"),
    ],
)
def test_damage(data: bytes, message: str) -> None:
    with pytest.raises(InvalidFile, match=message):
        read_etrecord(data)


@pytest.mark.parametrize(
    "part",
    [
        {"target": True},
        {"target": {}},
        {"metadata": {"debug_handle": float("inf")}},
        {"metadata": {"nn_module_stack": 3}},
    ],
)
def test_damaged_nodes(part: dict[str, Any]) -> None:
    node = {"name": "a", "target": "aten.relu.default", "metadata": {}, "outputs": [], **part}
    damaged = RecordedProgram({"graph_module": {"graph": {"nodes": [node]}}})
    with pytest.raises(InvalidFile, match="not a node of a graph") as caught:
        list(damaged.nodes())
    assert caught.value.where == "graph.nodes[0]"


def test_damaged_bytes(tmp_path: Path) -> None:
    """Each fault is an error of ours, wherever a byte is wrong, in memory and in files."""
    data, path = saved(record()), tmp_path / "net.etrecord"
    for place in (*range(0, len(data), 7), *range(len(data) - 22, len(data))):
        wrong = bytearray(data)
        wrong[place] ^= 0x41
        path.write_bytes(wrong)
        for source in (bytes(wrong), path):
            with suppress(InvalidFile):
                read_etrecord(source)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA], ids=["bzip2", "lzma"])
def test_other_compressions(method: int) -> None:
    """Whose faults are errors of their own."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        archive.writestr("ETRECORD_V0", "")
        archive.writestr("debug_handle_map", json.dumps({"forward": {}}))
    data = bytearray(stream.getvalue())
    at = data.index(b"debug_handle_map") + len("debug_handle_map")
    data[at : at + 12] = bytes(12)
    with pytest.raises(InvalidFile, match="the ETRecord is damaged"):
        read_etrecord(bytes(data))


def test_members_that_expand(tmp_path: Path) -> None:
    """A file of some kilobytes takes no gigabytes of memory."""
    stream = io.BytesIO(saved(record()))
    with (
        zipfile.ZipFile(stream, "a", zipfile.ZIP_DEFLATED) as archive,
        archive.open("reference_outputs", "w") as one,
    ):
        for _ in range(64):
            one.write(bytes(1 << 20))
    data = stream.getvalue()
    assert len(data) < 100_000
    tracemalloc.start()
    try:
        with pytest.raises(
            InvalidFile, match=r"members of 67,\d+,\d+ bytes in a file of \d\d,\d+; at most 16,777,216"
        ):
            read_etrecord(data)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_deflated_members() -> None:
    """As a packer of archives leaves them: zeros take a thousandth."""
    one = record()
    one.reference_outputs = bytes(1 << 20)
    source, stream = zipfile.ZipFile(io.BytesIO(saved(one))), io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in source.namelist():
            archive.writestr(name, source.read(name))
    assert read_etrecord(stream.getvalue()) == one


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_members_of_one_name() -> None:
    """Each of which would be read as the last."""
    stream = io.BytesIO(saved(record()))
    with zipfile.ZipFile(stream, "a") as archive:
        archive.writestr("reference_outputs", b"1")
        archive.writestr("reference_outputs", b"2")
    with pytest.raises(InvalidFile, match="two members have one name"):
        read_etrecord(stream.getvalue())


def test_paths_and_versions(tmp_path: Path) -> None:
    with pytest.raises(ExecutorchError, match="cannot read") as caught:
        read_etrecord(tmp_path / "none.etrecord")
    assert caught.value.code is Error.AccessFailed
    one = record()
    one.edge_dialect_program["forward"] = program(version=9)
    with pytest.raises(InvalidFile, match="version 9 of the schema, 5 is known"):
        read_etrecord(saved(one))
