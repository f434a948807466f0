"""Kernels in files, in modules, and of installed packages."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType

import pytest
from support.vm_programs import Build, f32

from et_schema.errors import Error, ExecutorchError
from et_vm import KernelRegistry, load_kernels
from et_vm.kernels.libraries import load_library
from et_vm.kernels.loading import KernelLoadError
from et_vm.runtime import Runtime

SCALE = """
import numpy as np
from et_vm import kernel

@kernel("mylib::scale.out")
def scale_out(x: np.ndarray, by: float, *, out: np.ndarray) -> None:
    np.multiply(x, by, out=out)
"""

Write = Callable[[str, str], str]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Writes a file into the current folder. What it is imported as is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    before = set(sys.modules)

    def make(name: str, text: str) -> str:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return name

    yield make
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def program() -> bytes:
    build = Build()
    x, out = build.tensor(4), build.tensor(4)
    build.call("mylib::scale.out", x, build.scalar(2.0), out, out)
    build.inputs(x)
    build.outputs(out)
    return build.file()


class TestPlaces:
    def test_a_file(self, write: Write):
        assert load_kernels(write("kernels_a.py", SCALE)).names == ("mylib::scale.out",)

    def test_a_file_by_its_whole_path(self, write: Write, tmp_path: Path):
        write("kernels_b.py", SCALE)
        assert load_kernels(tmp_path / "kernels_b.py").names == ("mylib::scale.out",)

    def test_a_module(self, write: Write):
        write("package_a/__init__.py", "")
        write("package_a/kernels.py", SCALE)
        assert load_kernels("package_a.kernels").names == ("mylib::scale.out",)

    def test_a_file_of_a_package_is_the_module_of_the_package(self, write: Write):
        write("package_b/__init__.py", "")
        write("package_b/shared.py", SCALE)
        load_kernels(write("package_b/kernels.py", "from .shared import scale_out"))
        assert "package_b.kernels" in sys.modules

    def test_a_module_object(self, write: Write):
        load_kernels(write("kernels_c.py", SCALE))
        assert load_kernels(sys.modules["kernels_c"]).names == ("mylib::scale.out",)

    def test_one_file_twice(self, write: Write):
        name = write("kernels_d.py", SCALE)
        assert load_kernels(name) == load_kernels(name)

    def test_one_that_imports_a_file_beside_it(self, write: Write):
        write("beside_a.py", SCALE)
        assert load_kernels(write("kernels_e.py", "from beside_a import scale_out")).names


class TestErrors:
    def test_no_such_file(self, write: Write):
        with pytest.raises(KernelLoadError, match=r"no such file at none.py") as caught:
            load_kernels("none.py")
        assert caught.value.code == Error.AccessFailed

    def test_a_folder(self, write: Write):
        write("folder/x.py", "")
        with pytest.raises(KernelLoadError, match="is a folder"):
            load_kernels("./folder")

    def test_no_python(self, write: Write):
        with pytest.raises(KernelLoadError, match="not a Python file"):
            load_kernels(write("kernels.txt", ""))

    def test_no_such_module(self, write: Write):
        with pytest.raises(KernelLoadError, match="no module named 'nowhere_at_all'"):
            load_kernels("nowhere_at_all.kernels")

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("x = 1\n1 / 0\n", r"ZeroDivisionError: division by zero at raises.py:2"),
            ("import nothing_there\n", r"No module named 'nothing_there' at raises.py:1"),
            ("raise SystemExit(3)\n", r"SystemExit: 3 at raises.py:1"),
            ("def (:\n", r"SyntaxError: .*raises.py:1"),
            (
                'from et_vm import kernel\n@kernel("a::b.out")\ndef f(x): pass\n',
                r"TypeError: f \(raises.py:2\) has no outputs",
            ),
        ],
    )
    def test_one_that_raises(self, write: Write, text: str, message: str):
        with pytest.raises(KernelLoadError, match=message):
            load_kernels(write("raises.py", text))

    def test_a_name_that_another_module_has(self, write: Write):
        with pytest.raises(KernelLoadError, match=r"another module is named 'json'.*rename the file"):
            load_kernels(write("json.py", SCALE))


class TestRuntimes:
    def test_a_runtime_of_its_own(self, write: Write):
        runtime = Runtime(kernels=[load_kernels(write("kernels_f.py", SCALE))])
        method = runtime.load_program(program()).load_method("forward")
        assert method.execute([f32(1, 2, 3, 4)])[0].tolist() == [2, 4, 6, 8]

    def test_added_later(self, write: Write):
        runtime = Runtime()
        loaded = runtime.load_program(program())
        with pytest.raises(ExecutorchError, match=r"no kernel for mylib::scale.out"):
            loaded.load_method("forward")
        runtime.add_kernels(load_kernels(write("kernels_g.py", SCALE)))
        assert loaded.load_method("forward").execute([f32(1, 1, 1, 1)])[0].tolist() == [2] * 4
        assert "mylib::scale.out" in runtime.operator_registry.operator_names

    def test_a_registry(self, write: Write):
        registry = KernelRegistry([load_kernels(write("kernels_h.py", SCALE))])
        method = Runtime().load_program(program(), kernels=registry).load_method("forward")
        assert method.execute([f32(1, 1, 1, 1)])[0].tolist() == [2] * 4


class TestPublished:
    @pytest.fixture(autouse=True)
    def package(self, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
        write("published_a.py", SCALE)
        write("published_b.py", "1 / 0")
        points = [
            EntryPoint("mylib", "published_a", "et_vm.kernels"),
            EntryPoint("broken", "published_b", "et_vm.kernels"),
        ]

        def entry_points(*, group: str, name: str) -> list[EntryPoint]:
            return [point for point in points if (point.group, point.name) == (group, name)]

        monkeypatch.setattr("importlib.metadata.entry_points", entry_points)

    def test_the_kernel_of_a_namespace(self):
        registry = load_library("portable")
        assert "published_a" not in sys.modules
        method = Runtime().load_program(program(), kernels=registry).load_method("forward")
        assert method.execute([f32(1, 1, 1, 1)])[0].tolist() == [2] * 4
        assert "mylib::scale.out" in registry.names()

    def test_nothing_else_of_it(self):
        assert load_library("portable").lookup("mylib::other.out", ()) is None

    def test_a_package_that_cannot_be_imported(self):
        with pytest.raises(KernelLoadError, match="ZeroDivisionError"):
            load_library("portable").lookup("broken::scale.out", ())


def test_a_module_without_kernels():
    with pytest.raises(ExecutorchError, match="it has no kernels") as raised:
        load_kernels(ModuleType("empty"))
    assert raised.value.where == "empty"
    assert "decorate a function with @et_vm.kernel" in raised.value.hint
