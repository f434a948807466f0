"""What a freestanding object cannot have, and what C calls what it has."""

from __future__ import annotations

from pathlib import Path

import freestanding_machines as machines
import numpy as np
import pytest
import torch
from torch import Tensor, nn

from et_backends.freestanding.compiler.programs import (
    FreestandingObject,
    compile_freestanding,
    compile_program,
)
from et_backends.freestanding.compiler.targets import FREESTANDING_TARGETS
from et_backends.freestanding.compiler.whole_program import UnsupportedProgram
from et_ir.driver.managers import to_edge


class Double(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(x)


class Overwrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        x.add_(1)
        return x * 2


class Unsupported(nn.Module):
    """An operator without a kernel, in a branch."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.cond(x.sum() > 0, lambda x: torch.cumsum(x, 0), lambda x: torch.special.i0(x), (x,))


def made(module: nn.Module, *inputs: Tensor, **export: object) -> FreestandingObject:
    edge = to_edge(torch.export.export(module.eval(), inputs, **export))
    return compile_freestanding(edge.module, FREESTANDING_TARGETS["x86-64"], "net")


@pytest.mark.parametrize(
    ("module", "x", "message"),
    [
        (Double(), torch.zeros(4, dtype=torch.float64), "needs a runtime.*\n.*element type"),
        (Overwrite(), torch.zeros(4), "needs a runtime.*\n.*writes to an input"),
        (Unsupported(), torch.zeros(4), "needs a runtime.*\n.*no kernel for this operator: i0"),
    ],
    ids=["f64", "input", "operator"],
)
def test_refused(module: nn.Module, x: Tensor, message: str):
    with pytest.raises(UnsupportedProgram, match=message):
        made(module, x)


class Several(nn.Module):
    """Two operators without a kernel, one of them in several places."""

    def forward(self, x: Tensor) -> Tensor:
        y = torch.special.i0(x)
        y = torch.special.i0(y) + 1
        y = torch.special.i0(y) + 1
        y = torch.special.i0(y) + 1
        y = torch.special.i0(y) + 1
        return torch.special.i0(torch.special.erfcx(y))


def test_one_error_of_each_kind():
    with pytest.raises(UnsupportedProgram) as caught:
        made(Several(), torch.zeros(4))
    first, second = caught.value.diagnostics
    assert (first.severity, first.subject) == ("error", "edge.i0")
    assert Path(first.file).name == "test_whole_program.py"
    line = first.line
    assert first.notes[0].text == "the code generator has no kernel for this operator: i0"
    places = first.notes[1].text
    assert places.startswith("also 'edge.i0' at ")
    assert [f".py:{line + number} " in places for number in range(6)] == [
        False,
        True,
        True,
        True,
        False,
        False,
    ]
    assert places.endswith(", and 2 more")
    assert "leave it to the caller" in first.fix
    assert (second.subject, second.line, len(second.notes)) == ("edge.special_erfcx", line + 5, 1)


class Sized(nn.Module):
    """Numbers of rows, which no kernel is told of."""

    def forward(self, x: Tensor) -> Tensor:
        rows = torch.arange(x.shape[0])
        return torch.special.i0(x) + rows * torch.arange(x.shape[0]) + torch.arange(x.shape[0]) * 2


def test_only_the_inputs_of_run_time_sizes_are_named():
    rows = torch.export.Dim("rows", min=2, max=8)
    with pytest.raises(UnsupportedProgram) as caught:
        made(Sized(), torch.zeros(4), dynamic_shapes={"x": {0: rows}})
    (only,) = caught.value.diagnostics
    assert only.text.startswith(
        'input "x" of @forward: it has sizes that are known at run time only: tensor<?xf32'
    )
    assert "without dynamic shapes" in only.fix


@pytest.mark.parametrize(
    ("module", "x", "fix"),
    [
        (Double(), torch.zeros(4, dtype=torch.float64), "convert the module and its inputs"),
        (Overwrite(), torch.zeros(4), "return the new value instead"),
        (Unsupported(), torch.zeros(4), "compute it with other operators"),
    ],
    ids=["f64", "input", "operator"],
)
def test_fixes(module: nn.Module, x: Tensor, fix: str):
    with pytest.raises(UnsupportedProgram) as caught:
        made(module, x)
    assert [fix in one.fix for one in caught.value.diagnostics] == [True]


class Nothing(nn.Module):
    """Updates of no elements, in two ways."""

    def forward(self, x: Tensor) -> Tensor:
        rows = torch.arange(0)
        y = x.index_put((rows,), x[4:])
        return y.scatter(1, rows.reshape(4, 0), 2.0) * 2


def test_updates_of_nothing(tmp_path: Path):
    x = torch.arange(12.0).reshape(4, 3)
    object = compile_program(torch.export.export(Nothing(), (x,)), "cortex-m4", "net")
    found = machines.run("cortex-m4", tmp_path, object, [x.numpy()])
    np.testing.assert_array_equal(found.outputs[0], (x * 2).numpy())


def test_sizes_known_at_run_time():
    batch = torch.export.Dim("batch", min=2, max=8)
    with pytest.raises(
        UnsupportedProgram, match='input "x" of @forward: it has sizes that are known at run time only'
    ):
        made(Double(), torch.zeros(4, 4), dynamic_shapes={"x": {0: batch}})


class Names(nn.Module):
    """Names that C has for other things."""

    def forward(self, int: Tensor, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return int + x, int - x, (int > x)


def test_names_and_types():
    program = made(Names(), torch.zeros(2, 3), torch.zeros(2, 3))
    found = program.interface
    assert [one.name for one in found.inputs] == ["int_", "x"]
    assert [one.name for one in found.outputs] == ["output0", "output1", "output2"]
    header = program.header
    assert "uint8_t *output2; /* 2 × 3 */" in header
    assert "#define NET_INT__COUNT 6" in header


def test_messages():
    """An index that is out of range is a result that the header explains."""

    class Rows(nn.Module):
        def forward(self, table: Tensor, rows: Tensor) -> Tensor:
            return table[rows]

    program = made(Rows(), torch.zeros(5, 3), torch.zeros(2, dtype=torch.int64))
    found = program.interface
    assert len(found.messages) == 1
    assert f"   1 — {found.messages[0]}" in program.header
