"""Mutation testing of a toy package: all kinds of faults, reach, outcomes, resumption and comparison."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from dev.mutants.campaign import Campaign
from dev.mutants.instrumentation import instrument
from dev.mutants.operators import KINDS, faults
from dev.mutants.recording import Suite
from dev.mutants.report import compare, summary
from dev.mutants.sampling import Area, load, sample, save
from dev.mutants.usage import Usage

SOURCE = '''\
"""A toy."""

from __future__ import annotations

from typing import Literal

__all__ = ["clip", "size"]

SIZES = {"byte": 1, "half": 2}
NAMES = "first_row second_row third_row"
Kind = Literal["a", "b"]


def clip(value: int, most: int = 7) -> int:
    """A docstring with 3 words."""
    if value > most:
        return most
    return value + 0


def size(name: Kind) -> int:
    for each in NAMES.split():
        if each == name:
            return 0
    if not name:
        raise ValueError(f"no name of {len(name) + 1}")
    return SIZES[name]


def unused(value: int | None) -> bool:
    return value is None or value > 3


def loop(count: int) -> int:
    """Counts down; é."""
    while count > 0:
        count -= 1
    return count
'''

TESTS = """\
import os
import subprocess
import sys

import pytest

from toy import core


@pytest.fixture(scope="module")
def clipped():
    return core.clip(9)


def test_clip(clipped, pytestconfig):
    assert clipped == 7
    # What a run keeps is not seen by the next, but for the folders that are meant to be.
    new, kept = (pytestconfig.cache.mkdir(name) / "file" for name in ("new", "kept"))
    assert not new.exists()
    new.write_text("")
    with kept.open("a") as file:
        file.write("a run\\n")


def test_clip_again(clipped):
    assert clipped > 0


def test_size():
    assert core.size("half") == 2


def test_loop():
    assert core.loop(3) == 0


def test_command():
    code = "from toy.core import clip; print(clip(3))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "3\\n"


def test_wrong():
    assert core.clip(1) == 2
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A checkout with a package and its tests."""
    folder = tmp_path / "checkout"
    for path, text in {
        "toy/__init__.py": '"""A package."""\n',
        "toy/core.py": SOURCE,
        "test/test_core.py": TESTS,
        "pyproject.toml": "[tool.pytest.ini_options]\naddopts = '-q -p no:xdist -p no:hypothesispytest'\n",
    }.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return folder


AREAS = (Area("toy", ("toy/*",), 1),)


def described(text: str) -> set[tuple[str, str, str]]:
    return {(fault.kind, fault.before, fault.after) for fault in faults("toy/core.py", text)}


def test_faults_of_all_kinds() -> None:
    found = described(SOURCE)
    assert {kind for kind, _, _ in found} == set(KINDS)
    assert {
        ("row", "{'byte': 1, 'half': 2}", "{'byte': 1}"),
        ("row", "'first_row second_row third_row'", "'second_row third_row'"),
        ("constant", "7", "6"),
        ("comparison", "value > most", "value >= most"),
        ("condition", "value > most", "not value > most"),
        ("condition", "not name", "name"),
        ("condition", "value is None or value > 3", "value is None and value > 3"),
        ("comparison", "each == name", "each != name"),
        ("arithmetic", "value + 0", "value - 0"),
        ("arithmetic", "1", "-1"),
    } <= found


@pytest.mark.parametrize(
    "text",
    [
        '"""Doc 1 2 3."""',
        "__all__ = ['a', 'b']",
        "x: tuple[int, str]\n",
        "Kind = Literal['a', 'b']",
        "raise ValueError(1 + n)",
        "x = f'{n + 1}'",
        "Number = int | None",
        "if TYPE_CHECKING and x > 1: pass",
        "@dataclass(frozen=True)\nclass A: pass",
        "a, b = f, g",
        "TEXT = 'Not a table, but a text.'",
        "x = 1\nif __name__ == '__main__': print(x + 1)",
        "def f(a: Literal[1], *, b: int) -> Annotated[int, 3]: ...",
        "match x:\n    case 1: pass",
    ],
)
def test_no_faults(text: str) -> None:
    assert not described(text)


def test_switches_keep_lines_and_meaning() -> None:
    text = SOURCE + dedent(
        """
        def entered(value):
            for each in range(value):
                return each
            with open(value) as file:
                return file
        class A:
            def method(self, n): return n < 3
        """
    )
    found = faults("toy/core.py", text)
    functions = ["clip", "size", "entered", "A.method", "loop"]
    changed = instrument(
        "toy/core.py",
        text,
        list(enumerate(found)),
        [(1000 + number, function) for number, function in enumerate(functions)],
    )
    assert changed.count("\n") == text.count("\n")
    assert ast.get_docstring(ast.parse(changed)) == "A toy."
    imported = "from ._mutant_switch import active as _mutant_active, chosen as _mutant_chosen"
    body = changed.replace(imported, "pass")
    entered: list[int] = []

    def active(chosen: int) -> Callable[[int], bool]:
        return lambda number: entered.append(number) or number == chosen

    def names(chosen: int) -> dict[str, Any]:
        scope: dict[str, Any] = {"_mutant_active": active(chosen), "_mutant_chosen": chosen.__eq__}
        exec(compile(body, "core", "exec"), scope)
        return scope

    scope = names(-1)
    assert scope["clip"](9) == 7
    assert scope["entered"](3) == 0
    assert scope["A"]().method(2)
    assert {1000, 1002, 1003} <= set(entered)
    assert not {1001, 1004} & set(entered)
    for number, fault in enumerate(found):
        mutated = names(number)
        if fault.before == "{'byte': 1, 'half': 2}":
            assert mutated["SIZES"] == {"byte": 1}
        if (fault.function, fault.after) == ("clip", "not value > most"):
            assert mutated["clip"](9) == 9


def test_a_module_without_docstring() -> None:
    assert instrument("toy/a.py", "x = 1\n", enumerate(faults("toy/a.py", "x = 1\n"))) == (
        "from ._mutant_switch import active as _mutant_active, chosen as _mutant_chosen; "
        "x = (0 if _mutant_chosen(0) else (1))\n"
    )


def test_functions_that_use_a_table() -> None:
    texts = {
        "toy/__init__.py": "from toy.core import SIZES\n",
        "toy/core.py": "SIZES = {1: 2}\nHALVES = [each for each in SIZES]\ndef own():\n    return HALVES\n",
        "toy/reader.py": "import toy\nfrom toy import core as c\nfrom toy import SIZES as s\n"
        "def by_name():\n    return s\ndef by_module():\n    return c.SIZES\ndef other():\n    return 1\n",
    }
    assert Usage(texts).functions("toy/core.py", 1) == [
        ("toy/core.py", "own"),
        ("toy/reader.py", "by_module"),
        ("toy/reader.py", "by_name"),
    ]


def test_samples(tmp_path: Path) -> None:
    texts = {"toy/core.py": SOURCE}
    chosen = sample(texts, AREAS, 10, 3)
    assert len(chosen) == 10
    assert chosen == sample(texts, AREAS, 10, 3)
    assert chosen != sample(texts, AREAS, 10, 4)
    assert len({fault.span for fault in chosen}) == 10
    save(tmp_path / "mutants.json", chosen)
    # Lines move, and a function goes.
    later = {"toy/core.py": "# A comment.\n" + SOURCE.replace("def clip", "def bounded")}
    found, absent = load(tmp_path / "mutants.json", later)
    assert {fault.function for fault in absent} == {"clip"}
    assert [fault.key for fault in found] == [fault.key for fault in chosen if fault.function != "clip"]
    assert {fault.line for fault in found} == {fault.line + 1 for fault in chosen if fault.function != "clip"}


def campaign(root: Path, work: Path, *further: Suite, **settings: Any) -> Campaign:
    suites = [Suite("pytest", ("test",), quick=True), *further]
    return Campaign(root, root, work, suites, areas=AREAS, processes=2, kept=["kept"], **settings)


def by_change(rows: list[dict[str, Any]]) -> dict[tuple[str, str, str], dict[str, Any]]:
    return {
        (row["fault"]["function"], row["fault"]["before"], row["fault"]["after"]): row["quick"]
        for row in rows
    }


def test_a_campaign(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wanted = [
        fault
        for fault in faults("toy/core.py", SOURCE)
        if fault.after in {"not value > most", "value - 0", "6", "{'byte': 1}"}
        or (fault.function, fault.kind) == ("unused", "condition")
    ]
    work = tmp_path / "work"
    save(work / "mutants.json", wanted)
    rows = campaign(root, work).run()
    assert "test_core.py::test_wrong: failed" in capsys.readouterr().out
    assert [row["fault"]["before"] for row in rows] == [fault.before for fault in wanted]
    assert len((work / "checkout/.pytest_cache/d/kept/file").read_text().splitlines()) > 1
    found = by_change(rows)

    def caught_by(*change: str) -> str:
        return found[change]["by"].partition("::")[2] if found[change]["caught"] else ""

    # In a fixture that another test set up; reached by three tests, one in a command.
    assert caught_by("clip", "value > most", "not value > most") == "test_clip"
    assert found["clip", "value > most", "not value > most"]["reaching"] == 3
    assert caught_by("clip", "value + 0", "value - 0") == ""
    assert found["clip", "value + 0", "value - 0"]["reaching"] == 1
    # Evaluated when the module is imported.
    assert caught_by("clip", "7", "6") == "test_clip"
    assert caught_by("", "{'byte': 1, 'half': 2}", "{'byte': 1}") == "test_size"
    assert found["", "{'byte': 1, 'half': 2}", "{'byte': 1}"]["reaching"] == 1
    # Not reached.
    unused = found["unused", "value is None or value > 3", "value is None and value > 3"]
    assert (unused["caught"], unused["reaching"]) == (False, 0)
    lines = "\n".join(summary(rows, {}))
    assert (
        "toy/core.py:31 unused: condition: value is None or value > 3 -> value is None and value > 3" in lines
    )

    # It goes on where it was stopped: what is known is not run again.
    results = json.loads((work / "results.json").read_text())
    del results["rows"][0]["quick"]
    results["rows"][1]["quick"]["by"] = "kept"
    (work / "results.json").write_text(json.dumps(results))
    again = campaign(root, work).run()
    assert again[0]["quick"]["caught"] == rows[0]["quick"]["caught"]
    assert again[1]["quick"]["by"] == "kept"

    # Other tests with the same faults, but for those that need a process of their own.
    save(tmp_path / "mutants.json", [fault for fault in wanted if not fault.outside])
    other = tmp_path / "other"
    (other / "test").mkdir(parents=True)
    (other / "pyproject.toml").write_text((root / "pyproject.toml").read_text())
    (other / "test/test_fewer.py").write_text(
        "from toy.core import unused\n\n\ndef test_unused():\n    assert unused(None)\n"
    )
    fewer = Campaign(
        root,
        other,
        tmp_path / "fewer",
        [Suite("pytest", ("test",), quick=True)],
        areas=AREAS,
        mutants=tmp_path / "mutants.json",
    ).run()
    lost, gained = compare(rows, fewer)
    change = "toy/core.py:16 clip: condition: value > most -> not value > most"
    assert lost == [f"quick: {change}  [failed: test/test_core.py::test_clip]"]
    change = "toy/core.py:31 unused: condition: value is None or value > 3 -> value is None and value > 3"
    assert gained == [f"quick: {change}  [failed: test/test_fewer.py::test_unused]"]


def test_a_time_out(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dev.mutants.client._GRACE", 1.0)
    work = tmp_path / "work"
    endless = [fault for fault in faults("toy/core.py", SOURCE) if (fault.before, fault.after) == ("1", "-1")]
    save(work / "mutants.json", endless)
    (row,) = campaign(root, work).run()
    assert row["quick"]["how"] == "time-out"
    assert row["quick"]["by"] == "test/test_core.py::test_loop"


def test_a_command_that_fails_without_a_fault(root: Path, tmp_path: Path) -> None:
    save(tmp_path / "mutants.json", faults("toy/core.py", SOURCE)[:1])
    broken = Suite("command", ("python", "-c", "'raise SystemExit(3)'"), quick=True)
    with pytest.raises(RuntimeError, match="failed without a fault"):
        campaign(root, tmp_path, broken).run()
