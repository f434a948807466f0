"""Debug maps: files that are none, or lack what is asked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from et_schema.errors import Error, ExecutorchError, InvalidFile
from et_vm.devtools.debug_map import Place, places_of_method, read_debug_map, rows_of_method

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


def frame(line: int) -> dict[str, object]:
    return {"file": "net.py", "line": line, "function": "forward", "code": ""}


def test_places(tmp_path: Path) -> None:
    """A part has the place of the first node in a module, or else of the first that has one."""
    nodes = [
        {"module": "", "source": []},
        {"module": "", "source": [frame(1), frame(2)]},
        {"module": "a.b", "source": [frame(3)]},
        {"module": "c", "source": [frame(4)]},
    ]
    parts = {"0": nodes, "x": nodes[:2], "2": nodes[:1], "3": []}
    rows = [
        {"instruction": 0, "module": "a", "source": [frame(7)], "delegate": {"identifiers": parts}},
        {"instruction": 3, "module": "", "delegate": None},
    ]
    file = tmp_path / "map.json"
    file.write_text(json.dumps({"forward": rows}))
    assert places_of_method(file, "forward") == {
        0: Place(
            "",
            "",
            {"0": Place("a.b", "net.py:3"), "x": Place("", "net.py:2"), "2": Place(), "3": Place()},
        ),
        3: Place(),
    }


@pytest.mark.parametrize(
    ("modules", "around"),
    [
        (("a.b", "a.b"), "a.b"),
        (("a.b.c", "a.b.d", "a.b"), "a.b"),
        (("a.b", "a.bc"), "a"),
        (("a.1", "a.10", "a.2"), "a"),
        (("a", "b"), ""),
    ],
)
def test_calls_of_delegates(tmp_path: Path, modules: tuple[str, ...], around: str) -> None:
    """In the module around all nodes; at a line if that is the same of all."""
    file = tmp_path / "map.json"
    for lines, line in (([3] * len(modules), "net.py:3"), (range(len(modules)), "")):
        nodes = [
            {"module": module, "source": [frame(number)]}
            for module, number in zip(modules, lines, strict=True)
        ]
        parts = {str(number): [node] for number, node in enumerate(nodes)}
        row = {"instruction": 0, **nodes[0], "delegate": {"identifiers": parts}}
        file.write_text(json.dumps({"forward": [row]}))
        place = places_of_method(file, "forward")[0]
        assert (place.module, place.line) == (around, line)
        # Where no node has a place, that of the call is what there is.
        row["delegate"] = {"identifiers": {"0": [{"module": "", "source": []}]}}
        file.write_text(json.dumps({"forward": [row]}))
        assert places_of_method(file, "forward")[0].module == modules[0]


@pytest.mark.parametrize(
    "row",
    [
        {"module": "a"},
        {"instruction": "x", "module": "a"},
        {"instruction": float("inf"), "module": "a"},
        {"instruction": 0},
        {"instruction": 0, "module": "", "source": 3},
        {"instruction": 0, "module": "", "source": [{}]},
        {"instruction": True, "module": ""},
        {"instruction": 0, "module": "a." * 1000},
        {"instruction": 0, "module": "", "node": ["a"]},
        {"instruction": 0, "module": "", "operator": {}},
        {"instruction": 0, "module": "", "source": [{"file": "net.py", "line": "1"}]},
        {"instruction": 0, "module": "", "delegate": {"identifiers": {"0": [{"module": "", "node": {}}]}}},
        {"instruction": 0, "module": "", "delegate": 3},
        {"instruction": 0, "module": "", "delegate": {"identifiers": [1]}},
        {"instruction": 0, "module": "", "delegate": {"identifiers": {"0": 3}}},
        {"instruction": 0, "module": "", "delegate": {"identifiers": {"0": [3]}}},
    ],
)
def test_rows_of_another_form(tmp_path: Path, row: dict[str, object]) -> None:
    file = tmp_path / "map.json"
    file.write_text(json.dumps({"forward": [row]}))
    with pytest.raises(InvalidFile, match="rows of another form"):
        places_of_method(file, "forward")


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(ExecutorchError, match=r"none\.json") as raised:
        read_debug_map(tmp_path / "none.json")
    assert raised.value.code is Error.AccessFailed
