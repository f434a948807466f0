import importlib.metadata
import sys
from importlib.metadata import EntryPoint
from types import SimpleNamespace

import pytest

from et_schema.backend_packages import ENTRY_POINTS, BackendPackage, Packages, backend_packages, load_part
from et_schema.delegate_blobs import BlobWrites, outputs_of_blob, updates_of_blob
from et_schema.errors import Error, ExecutorchError, InvalidFile


@pytest.fixture
def publish(monkeypatch):
    """Publishes entry points in the place of those that are installed."""

    def publish(*values):
        points = [EntryPoint(name, value, ENTRY_POINTS) for name, value in values]
        monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: points)
        backend_packages.cache_clear()

    yield publish
    backend_packages.cache_clear()


def test_parts_of_all_packages():
    """Each place that a package of this project names is there, and has the kind that it is named for."""
    packages = backend_packages()
    assert packages.failures == {}
    assert {"tosa", "xnnpack"} <= packages.found.keys()
    for part in ("compiler", "runtime", "decoder", "constants", "writes", "graph"):
        for backend_id, place in packages.places(part).items():
            loaded = load_part(place)
            if part == "compiler":
                assert loaded.details.backend_id == backend_id
            else:
                assert callable(loaded)
    for part in ("dialects", "passes"):
        for name, place in packages.named(part).items():
            assert load_part(place).name == name


def test_no_other_import(tmp_path):
    """Looking at the packages imports neither torch nor xDSL, nor what runs a backend."""
    import subprocess

    code = (
        "import sys; from et_schema.backend_packages import backend_packages; backend_packages();"
        "print(*sorted(m for m in sys.modules if m.split('.')[0] in ('torch', 'xdsl', 'numpy', 'et_ir', 'et_vm')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout.strip() == ""


def test_failures(publish, monkeypatch):
    package = BackendPackage("Mine")
    monkeypatch.setitem(sys.modules, "mine", SimpleNamespace(PACKAGE=package, other=1))
    publish(
        ("mine", "mine:PACKAGE"),
        ("broken", "no.such:PACKAGE"),
        ("wrong", "mine:other"),
        ("twice", "mine:PACKAGE"),
        ("twice", "other:PACKAGE"),
    )
    packages = backend_packages()
    assert packages.found == {"mine": package}
    failures = dict(packages.failures)
    message = "it cannot be loaded from no.such:PACKAGE: ModuleNotFoundError: No module named 'no'"
    assert failures.pop("broken").startswith(message)
    assert failures == {
        "twice": "two packages install it: mine:PACKAGE, other:PACKAGE; remove one",
        "wrong": "mine:other is 1, not a BackendPackage",
    }


def test_writes_of_a_blob(publish, monkeypatch):
    """The reader of a package says what its delegates write; without one, and of a damaged blob, nothing is known."""

    def writes(blob, named):
        if not blob:
            raise InvalidFile("empty")
        return BlobWrites(len(blob) + len(named), {1: 0})

    package, other = BackendPackage("Mine", writes="mine:writes"), BackendPackage("Other")
    monkeypatch.setitem(sys.modules, "mine", SimpleNamespace(PACKAGE=package, OTHER=other, writes=writes))
    publish(("mine", "mine:PACKAGE"), ("other", "mine:OTHER"))
    named = {"key": memoryview(b"")}
    found = [
        (outputs_of_blob(name, memoryview(blob), named), updates_of_blob(name, memoryview(blob), named))
        for name, blob in (("Mine", b"ab"), ("Mine", b""), ("Other", b"ab"))
    ]
    assert found == [(3, {1: 0}), (None, {}), (None, {})]


def test_one_of_each():
    packages = Packages(
        {
            "one": BackendPackage("Mine", runtime="a:A", passes={"cse": "a:Cse"}),
            "two": BackendPackage("Mine", decoder="b:lines", passes={"dce": "b:Dce"}),
        },
        {},
    )
    assert packages.places("runtime") == {"Mine": "a:A"}
    assert packages.places("decoder") == {"Mine": "b:lines"}
    assert packages.named("passes") == {"cse": "a:Cse", "dce": "b:Dce"}
    twice = Packages(dict.fromkeys(("one", "two"), packages.found["one"]), {})
    for call, message in (
        (lambda: twice.places("runtime"), "two packages have a runtime for one backend: 'one' and 'two'"),
        (lambda: twice.named("passes"), "two backend packages have passes named 'cse': 'one' and 'two'"),
    ):
        with pytest.raises(ExecutorchError, match=message) as caught:
            call()
        assert caught.value.code == Error.RegistrationAlreadyRegistered
