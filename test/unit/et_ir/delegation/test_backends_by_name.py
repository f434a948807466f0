from typing import Any

import pytest

from et_ir.backends import (
    Backend,
    BackendDetails,
    BackendError,
    CapabilityPartitioner,
    DelegationSpec,
    MissingBackend,
    PreprocessResult,
    backend_names,
    details_of,
    find_backend,
    make_partitioner,
    register_backend,
)
from et_ir.delegation import backends_by_name
from et_schema.backend_packages import BackendPackage, Packages, backend_packages


class Demo(BackendDetails):
    @classmethod
    def preprocess(cls, edge_program, compile_specs):
        return PreprocessResult(b"")


class Other(Demo):
    pass


class NoId(Demo):
    backend_id = ""


class SameId(Demo):
    backend_id = "Demo"


def partitioner(options):
    if set(options) - {"level"}:
        raise ValueError("there is no option 'x'")
    return CapabilityPartitioner(DelegationSpec("Demo"))


demo = Backend("demo", Demo, partitioner)
renamed = Backend("renamed", Demo, partitioner)


@pytest.fixture(autouse=True)
def no_others(monkeypatch):
    monkeypatch.setattr(backends_by_name, "_registered", {})


def test_found_by_name_and_id():
    register_backend(demo)
    register_backend(demo)
    assert find_backend("demo") is demo
    assert details_of("Demo") is Demo
    assert backend_names() == [
        "coreml",
        "demo",
        "ethos-u",
        "native",
        "nested",
        "openvino",
        "tosa",
        "vgf",
        "vulkan",
        "vulkan-graph",
        "xnnpack",
    ]
    assert isinstance(make_partitioner("demo:level=3"), CapabilityPartitioner)


def test_missing():
    with pytest.raises(
        MissingBackend,
        match=r"unknown backend 'nestd'; backends are: coreml, ethos-u, native, nested, .*, did you mean 'nested'",
    ) as caught:
        find_backend("nestd")
    assert caught.value.exit_code == 4
    with pytest.raises(
        MissingBackend,
        match="backends are: coreml, ethos-u, native, nested, openvino, tosa, vgf, vulkan, vulkan-graph, "
        "xnnpack, did you mean 'nested'",
    ):
        find_backend("NESTED")
    with pytest.raises(
        MissingBackend,
        match="no backend has the id 'Npu'; ids are: CoreMLBackend, EthosUBackend, NativeBackend, NestedProgramBackend",
    ):
        details_of("Npu")


def test_ids_are_checked_where_they_are_declared():
    """That of a partition is the one of a class."""
    with pytest.raises(
        MissingBackend, match=r"did you mean 'NativeBackend'\?; the id of a DelegationSpec is the"
    ):
        details_of("NativeBackends")
    wrong: Any
    for wrong, message in ((Other, r"; give Other\.backend_id"), ("", "got ''"), (3, "got 3")):
        with pytest.raises(TypeError, match=f"backend_id: expected the id of a backend, .*{message}"):
            DelegationSpec(wrong)
    for wrong, message in (
        (Other(), "not a class of BackendDetails"),
        (int, "not a class of BackendDetails"),
    ):
        with pytest.raises(BackendError, match=message):
            register_backend(Backend("wrong", wrong, partitioner))
    with pytest.raises(BackendError, match="the backend_id of NoId is empty"):
        register_backend(Backend("wrong", NoId, partitioner))


def test_two_of_one_name():
    register_backend(demo)
    with pytest.raises(BackendError, match=r"two backends are named 'demo': .*Demo and .*Other"):
        register_backend(Backend("demo", Other, partitioner))
    with pytest.raises(BackendError, match="two backends have the id 'Demo'"):
        register_backend(Backend("demo2", SameId, partitioner))
    with pytest.raises(BackendError, match="two backends are named 'nested'"):
        register_backend(Backend("nested", Other, partitioner))
    assert find_backend("demo") is demo


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("demo:x=1", "backend 'demo': there is no option 'x'"),
        ("demo:level", "expected NAME"),
        ("nested:target=abacus", "backend 'nested': unknown target 'abacus', expected one of"),
        ("nested:without=stat", "unknown operator 'stat', did you mean"),
        ("demo:level=1,level=2", "'level' is given twice"),
    ],
)
def test_options(text, message):
    register_backend(demo)
    with pytest.raises(BackendError, match=message):
        make_partitioner(text)


def install(monkeypatch, found, **failures):
    packages = Packages({**backend_packages().found, **found}, failures)
    monkeypatch.setattr(backends_by_name, "backend_packages", lambda: packages)


def test_installed(monkeypatch):
    found = {
        "demo": BackendPackage("Demo", f"{__name__}:demo"),
        "broken": BackendPackage("Broken", "no.such:thing"),
        "wrong": BackendPackage("Demo", f"{__name__}:demo"),
        "renamed": BackendPackage("Other", f"{__name__}:renamed"),
        "runtime": BackendPackage("Runs", runtime="no.such:thing"),
    }
    install(monkeypatch, found, failed="it cannot be loaded from x:PACKAGE: KeyError: 'tiles'")
    assert find_backend("demo").details.backend_id == "Demo"
    assert backend_names() == [
        "broken",
        "coreml",
        "demo",
        "ethos-u",
        "failed",
        "native",
        "nested",
        "openvino",
        "renamed",
        "tosa",
        "vgf",
        "vulkan",
        "vulkan-graph",
        "wrong",
        "xnnpack",
    ]
    with pytest.raises(
        BackendError, match=r"'broken' cannot be loaded from no\.such:thing: ModuleNotFoundError"
    ):
        find_backend("broken")
    with pytest.raises(BackendError, match="no Backend of that name"):
        find_backend("wrong")
    with pytest.raises(
        BackendError, match="the backend 'renamed' has the id 'Demo', and 'Other' in its package"
    ):
        find_backend("renamed")
    with pytest.raises(
        BackendError, match=r"'failed': it cannot be loaded from x:PACKAGE: KeyError: 'tiles'"
    ):
        find_backend("failed")
    with pytest.raises(MissingBackend, match="unknown backend 'runtime'"):
        find_backend("runtime")
    assert details_of("XnnpackBackend") is find_backend("xnnpack").details
    with pytest.raises(
        MissingBackend, match=r"no backend has the id 'Unknown'.*'failed' cannot be used: it cannot be"
    ):
        details_of("Unknown")


def test_a_partitioner_that_cannot_be_made():
    def fails(options):
        raise KeyError("tiles")

    register_backend(Backend("demo", Demo, fails))
    with pytest.raises(
        BackendError, match="backend 'demo': its partitioner cannot be created: KeyError: 'tiles'"
    ):
        make_partitioner("demo")


def test_what_is_no_partitioner():
    register_backend(Backend("demo", Demo, lambda options: None))
    with pytest.raises(BackendError, match="backend 'demo': None is not a Partitioner"):
        make_partitioner("demo")
