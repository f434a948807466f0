"""Import of users' files, and the line of an exception that is theirs."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from et_schema.errors import Error
from et_schema.user_code import LoadError, causes, import_place, is_library, raised, user_place


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


def error_of(text: str, name: str = "plugin.py") -> LoadError:
    Path(name).write_text(text)
    with pytest.raises(LoadError) as caught:
        import_place(name)
    return caught.value


def test_a_file_is_the_module_of_its_name(folder: Path):
    Path("plugin_a.py").write_text("import plugin_b\nX = plugin_b.Y")
    Path("plugin_b.py").write_text("Y = 3")
    assert import_place("plugin_a.py").X == 3
    assert import_place(folder / "plugin_a.py") is sys.modules["plugin_a"] is import_place("plugin_a")
    assert sys.path[-1] == str(folder)


def test_a_file_of_a_package(folder: Path):
    Path("pack").mkdir()
    Path("pack/__init__.py").write_text("")
    Path("pack/plugin_c.py").write_text("from . import other")
    Path("pack/other.py").write_text("")
    assert import_place("pack/plugin_c.py") is sys.modules["pack.plugin_c"]
    assert str(folder / "pack") not in sys.path


@pytest.mark.parametrize("name", ["json", "statistics", "numpy"])
def test_names_of_others_stay_theirs(name: str):
    before = sys.modules.get(name)
    error = error_of("", f"{name}.py")
    assert error.message == f"another module is named '{name}'"
    assert error.hint == "rename the file"
    assert sys.modules.get(name) is before
    assert json.loads("1") == 1


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("\n1 / 0", "plugin.py:2"),
        ("\n\nx = (", "plugin.py:3"),
        ("import nothing_at_all", "plugin.py:1"),
        ("import beside", "beside.py:4"),
        ("import json\n\ndef f():\n    json.loads('{')\n\nf()", "plugin.py:4"),
        ("from et_schema.errors import Error\n\nError(-5)", "plugin.py:3"),
        ("raise SystemExit(1)", "plugin.py:1"),
    ],
)
def test_the_line_of_an_import(text: str, where: str):
    Path("beside.py").write_text("\n\n\n1 / 0")
    error = error_of(text)
    assert error.where == where
    assert error.code is Error.InvalidArgument
    assert error.message.startswith("importing it failed: ")
    assert raised(error) == f"{where}: {error.message}"


def caught(function) -> BaseException:
    try:
        function()
    except BaseException as error:
        return error
    raise AssertionError


def test_exceptions():
    Path("plugin.py").write_text(
        "import json\n\ndef f():\n    json.loads('{')\n\ndef g():\n    raise ValueError\n\ndef h():\n"
        "    raise KeyError('tiles')\n"
    )
    plugin = import_place("plugin.py")
    assert user_place(caught(plugin.f)) == "plugin.py:4 in f"
    assert raised(caught(plugin.f)).endswith(" (plugin.py:4 in f)")
    assert raised(caught(plugin.g)) == "ValueError (plugin.py:7 in g)"
    assert raised(caught(plugin.h)) == "KeyError: 'tiles' (plugin.py:10 in h)"
    assert raised(ValueError("never raised")) == "ValueError: never raised"


def test_what_is_of_libraries():
    assert is_library(LoadError)
    assert not is_library(test_exceptions)


def test_the_module_that_python_runs_is_not_the_users():
    done = subprocess.run(
        [sys.executable, "-m", "et_tools.et_vm", "--help"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_causes_that_are_circular() -> None:
    one, other = ValueError("1"), ValueError("2")
    one.__cause__, other.__cause__ = other, one
    assert list(causes(one)) == [other]
    one.__cause__ = one
    assert list(causes(one)) == []
