"""Debug maps: files that are none, or lack what is asked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from et_schema.errors import Error, ExecutorchError, InvalidFile
from et_vm.devtools.debug_map import read_debug_map, rows_of_method

MAP = {"forward": [{"instruction": 0, "module": "fc"}], "step": []}


def test_rows(tmp_path: Path) -> None:
    file = tmp_path / "map.json"
    file.write_text(json.dumps(MAP))
    assert read_debug_map(file) == MAP
    assert rows_of_method(file, "forward") == MAP["forward"]
    assert rows_of_method(file, "step") == []
    with pytest.raises(InvalidFile, match="has no method 'other'"):
        rows_of_method(file, "other")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a debug map"),
        (b"\xff\xfe", "not a debug map"),
        (b"[]", "expected a JSON object"),
        (b'{"forward": 3}', "method 'forward' has no rows"),
        (b'{"forward": {"0": 1}}', "method 'forward' has no rows"),
        (b'{"forward": [[]]}', "method 'forward' has no rows"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a":' * 100_000, "nested too deeply"),
    ],
    ids=range(8),
)
def test_other_files(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "map.json"
    file.write_bytes(content)
    with pytest.raises(InvalidFile, match=message) as raised:
        read_debug_map(file)
    assert raised.value.hint == "et-compile --debug-map writes one"


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(ExecutorchError, match=r"none\.json") as raised:
        read_debug_map(tmp_path / "none.json")
    assert raised.value.code is Error.AccessFailed
