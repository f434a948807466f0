"""Selection of tests by change: kinds of dependencies, distances, and the commit that a change began at."""

from __future__ import annotations

import subprocess
import textwrap
from pathlib import Path

import pytest

from dev import affected as selection
from dev.affected import FAR, PACKAGES, affected, typed_sources
from dev.import_graph import dependencies, modules

ROOT = Path(__file__).parents[3]

FILES = {
    "lib/__init__.py": """
        from importlib import import_module
        NAMES = {"a-part": "parts.b:B"}
        def __getattr__(name):
            import lib.lazy
    """,
    "lib/lazy.py": "",
    "lib/parts/__init__.py": "",
    "lib/parts/a.py": """
        from typing import TYPE_CHECKING
        import lib.parts.c
        if TYPE_CHECKING:
            from lib.types import T
    """,
    "lib/parts/b.py": "from . import c",
    "lib/parts/c.py": "",
    "lib/parts/table.txt": "",
    "lib/types.py": "",
    "lib/families.py": "def load(family): return importlib.import_module(f'lib.family.{family}')",
    "lib/family/__init__.py": "",
    "lib/family/one.py": "",
    "tools/__init__.py": "",
    "tools/et_x.py": "def main():\n    from lib.parts import b",
    "test/conftest.py": "",
    "test/nets.py": "import lib.parts.a",
    "test/data/one.bin": "",
    "test/unit/test_a.py": "from lib.parts.a import A",
    "test/unit/test_support.py": "import nets",
    "test/unit/test_name.py": "CODE = 'import lib.parts.b'",
    "test/unit/test_command.py": "def test(): run('et-x', 'relu.mlir')",
    "test/unit/test_family.py": "import lib.families",
    "test/unit/test_plugin.py": "def test(): run('-p=first,a-part')",
    "test/unit/test_data.py": "DATA = HERE / 'data'",
    "test/unit/test_lazy.py": "from lib import Lazy",
    "test/unit/test_prose.py": "'''Says nothing of `lib.parts.a`.'''",
    "test/unit/test_page.py": "PAGE = ROOT / 'docs' / 'page.md'",
    "test/unit/test_pages.py": "PAGES = ROOT / 'docs'",
    "test/lit/part.mlir": "// RUN: et-x -p a-part %s",
    "test/lit/text.mlir": "// a-part",
    "docs/page.md": "",
    "docs/other.md": "",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    return tmp_path


def distances(tree: Path, *changed: str) -> dict[str, int]:
    found = affected(tree, changed, ("lib", "tools"))
    return {
        path.removeprefix("test/unit/test_").removesuffix(".py"): each.distance
        for path, each in found.items()
        if path.endswith(".py")
    }


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ("lib/parts/a.py", {"a": 1, "support": 1}),
        ("lib/parts/b.py", {"command": 2, "name": 2, "lazy": 3, "plugin": 1}),
        ("lib/parts/c.py", {"a": 2, "support": 2, "command": 3, "name": 3, "lazy": 4, "plugin": 2}),
        ("lib/types.py", {}),
        ("lib/family/one.py", {"family": 3}),
        ("lib/lazy.py", {"lazy": 2}),
        ("lib/parts/__init__.py", {"a": 1, "command": 2, "name": 3, "support": 1, "lazy": 4, "plugin": 2}),
        ("lib/parts/table.txt", {"a": 1, "command": 2, "name": 2, "support": 1, "lazy": 3, "plugin": 1}),
        ("lib/parts/gone.py", {"a": 1, "command": 2, "name": 2, "support": 1, "lazy": 3, "plugin": 1}),
        ("test/nets.py", {"support": 0}),
        ("test/unit/test_a.py", {"a": 0}),
        ("test/data/one.bin", {"data": 1}),
        ("docs/page.md", {"page": 1, "pages": 1}),
        ("docs/other.md", {"pages": 1}),
    ],
)
def test_kinds_of_dependencies(tree: Path, changed: str, expected: dict[str, int]) -> None:
    assert distances(tree, changed) == expected


def test_fixtures_and_settings_are_of_all_tests(tree: Path) -> None:
    names = {Path(name).stem.removeprefix("test_") for name in FILES if name.startswith("test/unit/")}
    assert distances(tree, "test/conftest.py") == dict.fromkeys(names, 2)
    assert distances(tree, "Makefile", "lib/parts/a.py") == dict.fromkeys(names, FAR) | {"a": 1, "support": 1}


def test_lit_tests(tree: Path) -> None:
    """What RUN lines name counts, and nothing else of the text."""
    assert affected(tree, ["lib/parts/b.py"], ("lib", "tools"))["test/lit/part.mlir"].distance == 1
    found = affected(tree, ["lib/parts/c.py", "test/lit/text.mlir"], ("lib", "tools"))
    assert {path: each.distance for path, each in found.items() if path.startswith("test/lit/")} == {
        "test/lit/part.mlir": 2,
        "test/lit/text.mlir": 0,
    }


def test_reasons(tree: Path) -> None:
    found = affected(tree, ["lib/parts/c.py"], ("lib", "tools"))["test/unit/test_support.py"]
    assert found.way == ("imports test.nets", "imports lib.parts.a", "imports lib.parts.c", "lib/parts/c.py")


def test_entry_points(tree: Path) -> None:
    """The name of an entry point is that of all that its record names; who asks for the group depends on the record."""
    files = {
        "pyproject.toml": '[project.entry-points."lib.parts"]\nfine = "lib.records.fine:PART"\n',
        "lib/records/__init__.py": "",
        "lib/records/fine.py": "PART = Part(id='FinePart', runs='lib.parts.made:Made')",
        "lib/parts/made.py": "class Made: pass",
        "lib/finder.py": "GROUP = 'lib.parts'",
        "test/unit/test_by_name.py": "NAME = 'fine'",
        "test/unit/test_by_id.py": "ID = 'FinePart'",
        "test/unit/test_by_group.py": "import lib.finder",
    }
    for name, text in files.items():
        path = tree / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert distances(tree, "lib/records/fine.py") == {"by_name": 1, "by_group": 1}
    assert distances(tree, "lib/parts/made.py") == {"by_name": 1, "by_id": 1, "by_group": 3}


def test_tests_reach_every_module() -> None:
    """What no test reaches is named in a way that the graph does not see, and its changes would select nothing."""
    graph = dependencies(ROOT, PACKAGES)
    reached: set[str] = set()
    rest = [name for name in graph if name.startswith(("test.unit.", "test.conformance."))]
    while rest:
        name = rest.pop()
        if name not in reached:
            reached.add(name)
            rest += [edge.module for edge in graph.get(name, ())]
    sources = modules(ROOT, ("et_ops", "et_schema", "et_ir", "et_vm", "et_backends", "tools"))
    assert sorted(name for name in sources if name not in reached and f"{name}.__init__" not in reached) == []


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Commits of a repository, one each ten hours, the oldest first; nothing has passed."""
    monkeypatch.setattr(selection, "ROOT", tmp_path / "work")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("BASE", raising=False)
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "work").mkdir()

    def git(*arguments: str) -> str:
        line = ["git", "-c", "user.name=A", "-c", "user.email=a@b", *arguments]
        return subprocess.run(
            line, cwd=tmp_path / "work", check=True, capture_output=True, text=True
        ).stdout.strip()

    git("init", "-q")
    commits: list[str] = []
    for hour in range(10, 50, 10):
        monkeypatch.setenv("GIT_COMMITTER_DATE", f"{1_700_000_000 + hour * 3600} +0000")
        (tmp_path / "work" / "file.txt").write_text(f"{hour}\n")
        git("add", ".")
        git("commit", "-qm", str(hour), "--no-verify")
        commits.append(git("rev-parse", "HEAD"))
    return commits


def test_base_is_older_than_half_a_day(history: list[str]) -> None:
    assert selection.base_of(None) == history[1]
    assert selection.base_of("HEAD~1") == history[2]


def test_base_has_passed(history: list[str]) -> None:
    selection.record_passed()
    (selection.ROOT / "new.txt").write_text("")
    assert selection.base_of(None) == history[3]
    assert selection.changed_since(history[3]) == ["new.txt"]
    assert selection.changed_since(history[2]) == ["file.txt", "new.txt"]


def test_a_commit_that_passed_has_the_base_that_it_had(history: list[str]) -> None:
    """So that it has the same tests again: the base is one of what they are chosen by."""
    subprocess.run(["git", "checkout", "-q", history[2]], cwd=selection.ROOT, check=True)
    selection.record_passed()
    subprocess.run(["git", "checkout", "-q", history[3]], cwd=selection.ROOT, check=True)
    assert selection.base_of(None) == history[2]
    selection.record_passed()
    assert selection.base_of(None) == history[2]


def test_what_passed_is_an_ancestor(history: list[str]) -> None:
    selection.record_passed()
    subprocess.run(["git", "checkout", "-q", history[2]], cwd=selection.ROOT, check=True)
    assert selection.base_of(None) == history[0]


def test_other_work_has_not_passed(history: list[str]) -> None:
    (selection.ROOT / "new.txt").write_text("")
    selection.record_passed()
    assert selection.base_of(None) == history[1]


def test_base_by_name(history: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BASE", history[0])
    assert selection.base_of(None) == history[0]
    with pytest.raises(SystemExit, match="there is no commit nothing"):
        selection.base_of("nothing")


def test_young_histories_have_no_base(history: list[str]) -> None:
    subprocess.run(["git", "checkout", "-q", history[1]], cwd=selection.ROOT, check=True)
    assert selection.base_of(None) is None
    assert selection.changed_since(None) == ["file.txt"]


def test_pages_only(history: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert selection.main(["--pages", "--base", "HEAD"]) == 0
    (selection.ROOT / "docs").mkdir()
    (selection.ROOT / "docs" / "page.md").write_text("")
    assert selection.main(["--pages", "--base", "HEAD"]) == 0
    (selection.ROOT / "a.py").write_text("")
    assert selection.main(["--pages", "--base", "HEAD"]) == 0
    assert capsys.readouterr().out == "docs/page.md\n"


def test_typed_sources_are_what_changed_and_its_users(tree: Path) -> None:
    assert typed_sources(tree, ["lib/parts/c.py", "docs/page.md", "lib/gone.py"], ["lib"]) == [
        "lib/parts/a.py",
        "lib/parts/b.py",
        "lib/parts/c.py",
    ]
    assert typed_sources(tree, ["test/unit/test_a.py"], ["lib"]) == []


def test_typed_sources_are_files() -> None:
    """Folders that stand for their modules, too, are no files."""
    found = typed_sources(ROOT, (str(path.relative_to(ROOT)) for path in ROOT.glob("et_backends/*/*.py")))
    assert "et_backends/codegen/__init__.py" in found
    assert all((ROOT / path).is_file() for path in found)
