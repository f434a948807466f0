"""`et-vm validate` looks into the blobs of delegates."""

import json
import sys
from types import SimpleNamespace

import pytest
from support import xnnpack_graphs
from support.vm_programs import Build

from et_backends.xnnpack.format import graph as xnnpack_graph
from et_schema.backend_packages import BackendPackage, Packages
from et_schema.errors import InvalidFile
from et_tools.et_vm import main
from et_tools.exit_codes import ExitCode


def square() -> bytes:
    graph = xnnpack_graphs.Build()
    graph.node(xnnpack_graph.XNNSquare(graph.input(2), graph.output(2)))
    return graph.blob()


def nested(*, cut: int = 0) -> bytes:
    build = Build()
    x = build.tensor(2)
    build.inputs(x)
    build.outputs(x)
    file = build.file()
    return file[: len(file) - cut]


def program(*blobs: tuple[str, bytes]) -> bytes:
    build = Build()
    x, out = build.tensor(2), build.tensor(2)
    for backend, blob in blobs:
        build.delegate(backend, blob, x, out)
    build.inputs(x)
    build.outputs(out)
    return build.file()


def damaged(blob: bytes, at: int, data: bytes) -> bytes:
    return blob[:at] + data + blob[at + len(data) :]


@pytest.fixture
def problems(tmp_path, capsys):
    """The output of `et-vm validate --json` for a file, and its exit code."""

    def find(file: bytes):
        path = tmp_path / "model.pte"
        path.write_bytes(file)
        code = main(["validate", str(path), "--json"])
        report = json.loads(capsys.readouterr().out)
        assert report["valid"] == (not report["problems"])
        return code, [(one["name"], one["where"]) for one in report["problems"]]

    return find


def test_good_blobs(problems):
    file = program(("XnnpackBackend", square()), ("NestedProgramBackend", nested()), ("Tiles", b"x"))
    assert problems(file) == (ExitCode.OK, [])


def test_blobs_for_xnnpack(problems):
    bad = (
        ("XnnpackBackend", square()),
        ("XnnpackBackend", damaged(square(), 4, b"XH99")),
        ("XnnpackBackend", square()[:40]),
    )
    code, found = problems(program(*bad))
    assert code == ExitCode.INVALID_INPUT
    assert found == [
        ("DelegateInvalidCompatibility", "execution_plan[0].delegates[1], header"),
        ("DelegateInvalidCompatibility", "execution_plan[0].delegates[2], header"),
    ]


def test_nested_programs(problems):
    code, found = problems(program(("NestedProgramBackend", nested(cut=40))))
    assert code == ExitCode.INVALID_INPUT
    assert found
    assert all(where.startswith("execution_plan[0].delegates[0]") for _, where in found)


def test_blobs_of_other_packages(problems, monkeypatch):
    """A package reads blobs of its own, and finds more in those that can be read."""

    def read(blob):
        if not blob:
            raise InvalidFile("empty", where="head")

    def errors(blob, kernels, named):
        assert kernels is not None
        assert named == {}
        yield InvalidFile("odd", where=f"byte {len(blob) - 1}")

    monkeypatch.setitem(sys.modules, "acme", SimpleNamespace(read=read, errors=errors))
    package = BackendPackage("Acme", read="acme:read", validate="acme:errors")
    monkeypatch.setattr(
        "et_schema.backend_packages.backend_packages", lambda: Packages({"acme": package}, {})
    )
    code, found = problems(program(("Acme", b""), ("Acme", b"abc"), ("XnnpackBackend", b"not read")))
    assert code == ExitCode.INVALID_INPUT
    assert [where for _, where in found] == [
        "execution_plan[0].delegates[0], head",
        "execution_plan[0].delegates[1], byte 2",
    ]
