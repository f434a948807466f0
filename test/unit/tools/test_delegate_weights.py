"""Weights of delegates in `et-vm info`, `et-vm diff` and `et-vm report`, of every backend."""

from __future__ import annotations

import json
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.command_line import Command

from et_schema.backend_packages import BackendPackage, Packages, backend_packages
from et_schema.delegate_constants import DelegateConstant
from et_tools.diff.compare import differences
from et_tools.vm_files import open_programs

SUBJECT = """
import torch
from torch import nn

def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 8)), (torch.randn(4, 64),)

def other():
    module, inputs = net()
    with torch.no_grad():
        module[0].weight *= 2
    return module, inputs

def batches():
    yield net()[1]
"""
FLOATS = {"float32 [32, 64]", "float32 [8, 32]", "float32 [32]", "float32 [8]"}
TRANSPOSED = {"float32 [64, 32]", "float32 [32, 8]", "float32 [32]", "float32 [8]"}
BATCHED = {"float32 [1, 64, 32]", "float32 [1, 32, 8]", "float32 [1, 32]"}
BYTES = {"bytes [8192]", "bytes [1024]", "bytes [128]", "bytes [32]"}
EXPECTED = {
    "coreml": FLOATS,
    "ethos-u": set(),  # encoded weights of all layers, as many bytes as Vela makes
    "native": {"bytes [8192]", "bytes [128]", "bytes [32]"},  # the second is padded
    "nested": TRANSPOSED,
    "tosa": BATCHED,
    "vgf": BATCHED,
    "vulkan": BYTES,
    "vulkan-graph": FLOATS,
    "xnnpack": FLOATS,
}
"""Some of the constants, without names."""
OPTIONS = {
    "ethos-u": (
        *("--backend", "ethos-u:target=ethos-u85-256", "--extra-backends", "EthosUBackend"),
        *("--quantize", "int8", "--calibrate", "net.py:batches"),
    )
}
needs_converter = pytest.mark.skipif(
    find_spec("model_converter") is None and "CI" not in os.environ,
    reason="needs the package ai_ml_sdk_model_converter, the extra 'vgf'",
)


@pytest.fixture(autouse=True)
def subject(workplace: Path) -> None:
    (workplace / "net.py").write_text(SUBJECT)


def compiled(command: Command, backend: str, factory: str = "net") -> str:
    file = f"{factory}.pte"
    options = OPTIONS.get(backend, ("--backend", backend, "--target", "et-vm"))
    assert command("et-compile", f"net.py:{factory}", "-o", file, "-q", *options).code == 0
    return file


def info(command: Command, file: str) -> dict[str, Any]:
    return json.loads(command("et-vm", "info", file, "--json").out)


def shown(weight: dict[str, Any]) -> str:
    return f"{weight['dtype']} {weight['shape']}"


@pytest.mark.parametrize(
    "backend",
    [pytest.param(name, marks=needs_converter if name == "vgf" else ()) for name in EXPECTED],
)
def test_weights_of_a_backend(command: Command, backend: str) -> None:
    """As text, as JSON, in the facts of a page, and as the differences of two files."""
    file = compiled(command, backend)
    identifier = backend_packages().found[backend].backend_id
    facts = info(command, file)
    found = [one for one in facts["weights"] if one.get("delegate") == identifier]
    assert found
    assert facts["unread_weights"] == {}
    assert EXPECTED[backend] <= {shown(one) for one in found}
    assert all(one["nbytes"] > 0 for one in found)
    assert sum(one["nbytes"] for one in found) < facts["size"]
    text = command("et-vm", "info", file).out.splitlines()
    total = sum(one["nbytes"] for one in found)
    number = "1 weight" if len(found) == 1 else f"{len(found)} weights"
    head = text.index(f"{number} of {identifier}: {total:,} bytes")
    assert shown(found[0]) in text[head + 1]
    assert command("et-vm", "report", file, "-o", "report.json", "--format", "json").code == 0
    (program,) = json.loads(Path("report.json").read_text())["programs"]
    on_page = [one for one in program["weights"] if one.get("delegate") == identifier]
    assert [shown(one) for one in on_page] == [shown(one) for one in found]
    first, second = open_programs([file, compiled(command, backend, "other")])
    of_weights = [one for one in differences(first, second) if one.where == "weights of delegates"]
    before, after = (
        [text for text in texts if text] for texts in zip(*(one[1:] for one in of_weights), strict=True)
    )
    assert len(before) == len(after) == 1
    assert all(f" of {identifier} #" in text for text in (*before, *after))
    assert differences(first, first) == []
    assert all(one["contents"] for one in facts["delegates"])


def test_every_backend_is_tried() -> None:
    packages = backend_packages().found
    assert {name for name, package in packages.items() if package.constants} == EXPECTED.keys()
    # Of OpenVINO, whose models are in a form of its own, only the bytes of the blob are known.
    assert {name for name, package in packages.items() if package.backend_id} - EXPECTED.keys() == {
        "openvino"
    }


@pytest.mark.parametrize(
    ("package", "reason"),
    [
        (BackendPackage("XnnpackBackend"), "no installed package reads its blobs"),
        (BackendPackage("XnnpackBackend", constants="acme:broken"), "AttributeError: "),
        (BackendPackage("XnnpackBackend", constants="acme:nowhere"), "AttributeError: "),
    ],
)
def test_weights_that_cannot_be_read(
    command: Command, monkeypatch: pytest.MonkeyPatch, package: BackendPackage, reason: str
) -> None:
    file = compiled(command, "xnnpack")

    def broken(blob: memoryview, named: object) -> Any:
        return blob.no_such

    monkeypatch.setitem(sys.modules, "acme", SimpleNamespace(broken=broken))
    monkeypatch.setattr(
        "et_schema.backend_packages.backend_packages", lambda: Packages({"acme": package}, {})
    )
    ran = command("et-vm", "info", file)
    assert ran.code == 0
    assert f"weights of XnnpackBackend: not known: {reason}" in ran.out
    assert command("et-vm", "diff", file, file).code == 0
    assert command("et-vm", "report", file, "-o", "report.html").code == 0


def test_package_of_a_user(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    file = compiled(command, "xnnpack")

    def constants(blob: memoryview, named: dict[str, memoryview]) -> list[DelegateConstant]:
        return [DelegateConstant("int4", [2, 3], 3, data=blob[:3], name="table")]

    monkeypatch.setitem(sys.modules, "acme", SimpleNamespace(constants=constants))
    package = BackendPackage("XnnpackBackend", constants="acme:constants")
    monkeypatch.setattr(
        "et_schema.backend_packages.backend_packages", lambda: Packages({"acme": package}, {})
    )
    assert "int4 [2, 3] table" in command("et-vm", "info", file).out
