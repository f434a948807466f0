"""Commands that evaluate texts: operators of torch's registry that a text names are not reached."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from support.command_line import Command

CALL = """program.operator "{schema}"
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {{
  %0 = {call} : {types}
  %1 = aten.relu %0 : tensor<4xf32>
  func.return %1 : tensor<4xf32>
}}
"""

TEXTS = {
    "a method of the registry": CALL.format(
        schema="load_library::__call__.__call__(str path) -> Tensor",
        call='aten.load_library.__call__.__call__ {path = "./hostile.so"}',
        types="tensor<4xf32>",
    ),
    "an operator of the code generator": CALL.format(
        schema="inductor::_reinterpret_tensor(Tensor self, int[] size, int[] stride, int offset_increment=0) -> Tensor",
        call="aten.inductor._reinterpret_tensor %x {size = [4], stride = [1], offset_increment = 1000}",
        types="(tensor<4xf32>) -> tensor<4xf32>",
    ),
    "another schema than the registered one": CALL.format(
        schema="text_operators::seen(Tensor x, int n) -> Tensor",
        call="aten.text_operators.seen %x {n = 1}",
        types="tensor<4xf32>",
    ),
    "an operator of a library in C++ that reads files": CALL.format(
        schema="text_operators::read(str path) -> Tensor",
        call='aten.text_operators.read {path = "secret"}',
        types="tensor<4xf32>",
    ),
}

COMMANDS: dict[str, tuple[str, ...]] = {
    "run": ("et-vm", "run", "x.mlir"),
    "run with torch's kernels": ("et-vm", "run", "x.mlir", "--kernels", "aten"),
    "compare": ("et-vm", "compare", "x.mlir", "x.mlir"),
    "check-passes": ("et-compile", "x.mlir", "-q", "--check-passes", "-o", "x.pte"),
    "bisect": ("et-bisect", "x.mlir", "-q"),
}


@pytest.fixture(autouse=True)
def reached(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[object]]:
    """What of the registry has been called."""
    found: list[object] = []

    def load(registry: object, *arguments: Any, **keywords: Any) -> None:
        found.append(arguments or keywords)

    def seen(x: torch.Tensor) -> torch.Tensor:
        found.append("seen")
        return x.clone()

    def read(path: str) -> torch.Tensor:
        found.append(path)
        return torch.ones(4)

    monkeypatch.setattr(type(torch.ops), "load_library", load)
    library: Any = torch.library.Library("text_operators", "DEF")
    library.define("seen(Tensor x) -> Tensor")
    library.impl("seen", seen, "CPU")
    library.define("read(str path) -> Tensor")
    library.impl("read", read, "CompositeExplicitAutograd")
    # As if a library in C++ had registered it.
    defined: set[str] = cast(Any, torch.library)._defs
    monkeypatch.setattr(torch.library, "_defs", defined - {"text_operators::read"})
    yield found
    library._destroy()


@pytest.mark.parametrize("line", COMMANDS.values(), ids=COMMANDS)
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_text_reaches_no_operator_by_its_name(
    command: Command, reached: list[object], text: str, line: tuple[str, ...]
) -> None:
    Path("x.mlir").write_text(text)
    ran = command(*line)
    assert reached == []
    assert ran.code in (3, 4, 5), ran.err
    assert "error:" in ran.err


def test_operators_that_loaded_files_declare(command: Command) -> None:
    Path("declares.py").write_text(
        "import torch\n"
        'library = torch.library.Library("text_declared", "DEF")\n'
        'library.define("twice(Tensor x) -> Tensor")\n'
        'library.impl("twice", lambda x: x * 2, "CPU")\n'
    )
    text = CALL.format(
        schema="text_declared::twice(Tensor x) -> Tensor",
        call="aten.text_declared.twice %x",
        types="tensor<4xf32>",
    )
    Path("x.mlir").write_text(text)
    line = ("et-vm", "run", "x.mlir", "--input", "ones", "--kernels", "aten", "--load", "declares.py")
    ran = command(*line)
    assert (ran.code, "[2, 2, 2, 2]" in ran.out) == (0, True), ran.err
    Path("x.mlir").write_text(text.replace("twice(Tensor x)", "twice(Tensor y)"))
    assert command(*line).code != 0
    sys.modules["declares"].library._destroy()


def test_devices(command: Command) -> None:
    """Tensors have no devices, whatever a text says."""
    Path("x.mlir").write_text(
        "func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
        '  %0 = aten.to.device %x {device = "meta", dtype = f32, non_blocking = false, copy = false} : tensor<4xf32>\n'
        "  func.return %0 : tensor<4xf32>\n}\n"
    )
    ran = command("et-vm", "run", "x.mlir", "--input", "ones")
    assert (ran.code, "[1, 1, 1, 1]" in ran.out) == (0, True), ran.err


@pytest.mark.parametrize(
    "body",
    [
        "",
        "{\n  func.return %x : tensor<4xf32>\n^bb1(%y: tensor<4xf32>):\n  func.return %y : tensor<4xf32>\n}",
    ],
)
@pytest.mark.parametrize(
    "line",
    [
        "et-vm run",
        "et-compile -q -o a.pte",
        "et-bisect",
        "et-reduce -q --keep true",
        "et-vm report -o r.html",
    ],
)
def test_methods_without_one_block(command: Command, line: str, body: str) -> None:
    private, argument = ("private ", "") if not body else ("", "%x: ")
    Path("a.mlir").write_text(f"func.func {private}@f({argument}tensor<4xf32>) -> tensor<4xf32> {body}\n")
    ran = command(*line.split(), "a.mlir")
    assert ran.code == 3
    assert f"a.mlir:1:1: error: 'func.func': f has {'2 blocks' if body else '0 blocks'}" in ran.err
