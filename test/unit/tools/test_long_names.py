"""Messages about names and texts of files of any length: they are abbreviated."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from support.command_line import RELU, Command
from support.vm_programs import Build

from et_schema.diagnostics import Diagnostic, Frame, Location, render
from et_schema.errors import Error, InvalidFile, Trap
from et_schema.program import CompileSpec
from et_schema.program import Frame as StoredFrame
from et_schema.wording import abbreviated

LONG = "n" * 500_000
SPACED = "n n " * 125_000


def operator(name: str) -> bytes:
    build = Build()
    x = build.tensor(2)
    build.call(f"acme::{name}.out", x, x)
    build.inputs(x)
    build.outputs(x)
    return build.file()


def method(name: str) -> bytes:
    build = Build(name)
    x = build.tensor(2)
    build.call("acme::scale.out", x, x)
    build.outputs(x)
    return build.file()


def backend(name: str) -> bytes:
    build = Build()
    x = build.tensor(2)
    build.delegate(name, b"blob", x, specs=[CompileSpec(name, b"")])
    build.outputs(x)
    return build.file()


def external(name: str) -> bytes:
    build = Build()
    x = build.external(name, 2)
    build.outputs(x)
    return build.file()


def frames(name: str) -> bytes:
    """A call that fails, with the stack that it was exported from."""
    build = Build()
    x = build.tensor(2)
    called = [StoredFrame(filename=name, lineno=at, name=name, context=name) for at in range(200)]
    build.call("aten::relu.out", x, build.tensor(3), build.tensor(2, 2), frames=called)
    build.outputs(x)
    return build.file()


PROGRAMS: dict[str, Callable[[str], bytes]] = {
    "operator": operator,
    "method": method,
    "backend": backend,
    "external": external,
    "frames": frames,
}
TEXTS = {
    "op": RELU.replace("aten.relu", "aten.LONG"),
    "symbol": RELU.replace("@forward", "@LONG").replace("-> tensor<4xf32>", "-> tensor<5xf32>"),
    "attribute": RELU.replace("%x :", "%x {LONG = 1} :", 1),
    "type": RELU.replace("f32", "LONG", 1),
    "number": RELU.replace("tensor<4", "tensor<" + "9" * 4000),
    "location": RELU.replace("f32\n", 'f32 loc("LONG":1:1)\n').replace("aten.relu", "aten.item"),
}


@pytest.mark.parametrize("long", [LONG, SPACED], ids=["word", "words"])
@pytest.mark.parametrize("kind", PROGRAMS)
def test_programs(command: Command, kind: str, long: str) -> None:
    """`command` asserts that less than 4,000 characters are printed."""
    Path("a.pte").write_bytes(PROGRAMS[kind](long))
    ran = [command("et-vm", verb, "a.pte") for verb in ("run", "validate", "debug")]
    ran.append(command("et-compile", "a.pte", "-q", "-o", "b.pte"))
    assert any(one.code and "…" in one.err for one in ran)


@pytest.mark.parametrize("kind", TEXTS)
def test_texts(command: Command, kind: str) -> None:
    Path("a.mlir").write_text(TEXTS[kind].replace("LONG", LONG))
    command("et-opt", "a.mlir", "-p", "cse", "-o", "b.mlir")
    assert command("et-compile", "a.mlir", "-q", "-o", "b.pte").code


def test_data_as_json(command: Command) -> None:
    Path("a.pte").write_bytes(operator(LONG))
    (problem,) = json.loads(command("et-vm", "validate", "a.pte", "--json").out)["problems"]
    assert len(problem["message"]) < 400
    assert problem["operators"] == [f"acme::{LONG}.out"]


def test_what_is_left_out() -> None:
    short = "a" * 300
    assert abbreviated(short) == short
    assert abbreviated(f"{short} {short}") == f"{short} {short}"
    word = abbreviated("a" * 500 + "z" * 500)
    assert len(word) == 300
    assert word.startswith("a" * 224 + "…z")
    assert len(abbreviated("ab " * 5000)) == 3000


def test_parts_of_messages() -> None:
    place = Location((Frame(LONG, 3, LONG),), module=LONG)
    one = Diagnostic(LONG, detail=SPACED, subject=LONG, fix=LONG, at=place, notes=(Diagnostic(LONG),))
    assert len(render([one])) < 6_000
    assert len(str(one)) < 6_000
    assert len(json.dumps(one.json()["notes"])) < 1_000
    assert len(str(InvalidFile(LONG, where=LONG, hint=LONG))) < 2_000
    called = [StoredFrame("a", 1, LONG)] * 1000
    trap = Trap(LONG, code=Error.InvalidArgument, instruction=1, operator=LONG, frames=called)
    assert "from 950 outer calls" in str(trap)
    assert len(str(trap)) < 20_000
