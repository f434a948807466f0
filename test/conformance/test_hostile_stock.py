"""Malformed files that crash the stock runtime or run on it: a typed error here.

Each row breaks a good file in one place. The stock runtime (executorch 1.5.1, InternalConsistency) runs it in a process
of its own; what became of that is part of the row, so that the table of `docs/safety.md` is what was seen.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from signal import Signals
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from stock import StockError, StockRuntime
from support.vm_programs import Build

from et_schema.errors import Error, ExecutorchError
from et_schema.program import (
    FreeCall,
    Instruction,
    JumpFalseCall,
    KernelCall,
    MoveCall,
)
from et_schema.scalar_type import ScalarType
from et_vm.program import Program, Verification
from et_vm.run.validation import validate

# Registers of the good file.
X, Y, SUM, OUT, ALPHA, NONE, FLAG, WEIGHT, EMPTY = range(9)
INPUTS = (np.array([1, 2, 3, 4], np.float32), np.array([10, 20, 30, 40], np.float32))
EXPECTED = [12, 23, 34, 45]


def good() -> Build:
    """out = (x + y) + weight, where nothing jumps."""
    build = Build()
    x, y, total, out = (build.tensor(4) for _ in range(4))
    alpha, none, flag = build.scalar(1), build.scalar(None), build.scalar(True)
    weight = build.constant(np.ones(4, np.float32))
    empty = build.tensor(4, planned=False)
    assert [x, y, total, out, alpha, none, flag, weight, empty] == list(range(9))
    build.call("aten::add.out", x, y, alpha, total, total)
    build.jump_false(flag, 2)
    build.call("aten::add.out", total, weight, alpha, out, out)
    build.inputs(x, y)
    build.outputs(out)
    return build


def replaced(index: int, arguments: Any) -> Callable[[Build], None]:
    def mutate(build: Build) -> None:
        build.chain.instructions[index] = Instruction(arguments)

    return mutate


def input_out_of_bounds(build: Build) -> None:
    build.plan.inputs = [X, 99]


def negative_arena(build: Build) -> None:
    build.plan.non_const_buffer_sizes[1] = -16


def jump_back(build: Build) -> None:
    build[FLAG].bool_val = False
    replaced(1, JumpFalseCall(FLAG, -5))(build)


def freed(build: Build) -> None:
    build.chain.instructions.insert(1, Instruction(FreeCall(SUM)))
    replaced(2, JumpFalseCall(FLAG, 3))(build)


def jump_past_the_end(build: Build) -> None:
    build[FLAG].bool_val = False
    replaced(1, JumpFalseCall(FLAG, 99))(build)


def overlapping(build: Build) -> None:
    """The sum lies on the second input, which is added once more after that."""
    build[SUM].allocation_info = build[Y].allocation_info
    replaced(2, KernelCall(0, [SUM, Y, ALPHA, OUT, OUT]))(build)


def bool_bytes(build: Build) -> None:
    """out = how many of four bools are true, where true is 2, 3 and 255."""
    mask, count = build.constant(np.array([2, 3, 0, 255], np.uint8)), build.tensor(dtype=ScalarType.LONG)
    build[mask].scalar_type = ScalarType.BOOL
    build.call("aten::sum.IntList_out", mask, build.ints(0), build.scalar(False), NONE, count, count)
    build.outputs(count)


def delegate_without_data(build: Build) -> None:
    build.delegate("XnnpackBackend", b"xx", X, OUT)
    build.plan.delegates[0].processed = None


class Row(NamedTuple):
    """`theirs` is the signal that ended the stock runtime, or the output that it gave without a word."""

    mutate: Callable[[Build], None]
    theirs: Any
    code: Error
    where: str


INSTRUCTIONS = "execution_plan[0].chains[0].instructions"
ROWS = {
    "a kernel argument of the wrong value type": Row(
        replaced(2, KernelCall(0, [SUM, ALPHA, ALPHA, OUT, OUT])),
        Signals.SIGABRT,
        Error.InvalidType,
        f"{INSTRUCTIONS}[2].instr_args.args[1]",
    ),
    "an input that is no value": Row(
        input_out_of_bounds, Signals.SIGABRT, Error.InvalidProgram, "execution_plan[0].inputs[1]"
    ),
    "None moved over an input": Row(
        replaced(1, MoveCall(NONE, SUM)),
        Signals.SIGABRT,
        Error.InvalidType,
        f"{INSTRUCTIONS}[2].instr_args.args[0]",
    ),
    "an operator that does not exist before a good call": Row(
        replaced(0, KernelCall(7, [X, Y, ALPHA, SUM, SUM])),
        Signals.SIGSEGV,
        Error.InvalidProgram,
        f"{INSTRUCTIONS}[0].instr_args.op_index",
    ),
    "a tensor that was freed": Row(
        freed, Signals.SIGSEGV, Error.InvalidProgram, f"{INSTRUCTIONS}[3].instr_args.args[0]"
    ),
    "a tensor without data": Row(
        replaced(2, KernelCall(0, [SUM, EMPTY, ALPHA, OUT, OUT])),
        Signals.SIGSEGV,
        Error.InvalidProgram,
        f"{INSTRUCTIONS}[2].instr_args.args[1]",
    ),
    "a jump to instruction -5": Row(
        jump_back, [0, 0, 0, 0], Error.InvalidProgram, f"{INSTRUCTIONS}[1].instr_args.destination_instruction"
    ),
    "a constant that is written": Row(
        replaced(2, KernelCall(0, [SUM, Y, ALPHA, WEIGHT, WEIGHT])),
        Signals.SIGSEGV,
        Error.InvalidProgram,
        f"{INSTRUCTIONS}[2].instr_args.args",
    ),
    "a jump past the end": Row(
        jump_past_the_end,
        [0, 0, 0, 0],
        Error.InvalidProgram,
        f"{INSTRUCTIONS}[1].instr_args.destination_instruction",
    ),
    "a delegate without data": Row(
        delegate_without_data,
        Signals.SIGSEGV,
        Error.InvalidProgram,
        "execution_plan[0].delegates[0].processed",
    ),
    "a bool of 2": Row(
        bool_bytes, 260, Error.InvalidProgram, "execution_plan[0].values[9].val.data_buffer_idx"
    ),
}


def run_stock(stock: StockRuntime, path: Path) -> Signals | Any:
    """The outcome of the stock runtime: a signal, or its output. Raises StockError for an error that it reports."""
    try:
        (out,) = stock.run(path, [torch.from_numpy(value) for value in INPUTS])
    except StockError as error:
        died = re.match(r"the stock runtime died \(-(\d+)\)", str(error))
        if died is None:
            raise
        return Signals(int(died[1]))
    return out.tolist()


def file_of(mutate: Callable[[Build], None], tmp_path: Path) -> Path:
    build = good()
    mutate(build)
    path = tmp_path / "malformed.pte"
    path.write_bytes(build.file())
    return path


def test_the_good_file(stock: StockRuntime, tmp_path: Path) -> None:
    path = file_of(lambda _: None, tmp_path)
    assert run_stock(stock, path) == EXPECTED
    assert Program.load(path).load_method("forward").execute(INPUTS)[0].tolist() == EXPECTED


@pytest.mark.parametrize("row", ROWS.values(), ids=[*ROWS])
def test_stock_does_not_find(row: Row, stock: StockRuntime, tmp_path: Path) -> None:
    path = file_of(row.mutate, tmp_path)
    assert run_stock(stock, path) == row.theirs
    with pytest.raises(ExecutorchError) as caught:
        Program.load(path).load_method("forward")
    assert (caught.value.code, caught.value.where) == (row.code, row.where)
    assert caught.value.offset is not None


def test_an_arena_of_negative_size(stock: StockRuntime, tmp_path: Path) -> None:
    """Executorch 1.4.1 aborted; since 1.5 both runtimes refuse it."""
    path = file_of(negative_arena, tmp_path)
    with pytest.raises(StockError, match="size of planned buffer"):
        run_stock(stock, path)
    with pytest.raises(ExecutorchError) as caught:
        Program.load(path).load_method("forward")
    assert caught.value.code == Error.InvalidProgram
    assert caught.value.where == "execution_plan[0].non_const_buffer_sizes[1]"


def test_live_tensors_in_the_same_bytes(stock: StockRuntime, tmp_path: Path) -> None:
    """Well-formed, so both run it, to the same wrong result. Here that can be asked for."""
    path = file_of(overlapping, tmp_path)
    wrong = [22, 44, 66, 88]
    assert run_stock(stock, path) == wrong
    assert Program.load(path).load_method("forward").execute(INPUTS)[0].tolist() == wrong
    (clash,) = validate(memoryview(path.read_bytes())).clashes
    assert clash.where == f"execution_plan[0].values[{SUM}].val.allocation_info"
    with pytest.raises(ExecutorchError, match="over live bytes of"):
        Program.load(path, Verification.Lifetimes)


def test_the_page_lists_them() -> None:
    """With what happens on each side."""
    page = (Path(__file__).parents[2] / "docs" / "safety.md").read_text()
    listed = dict(re.findall(r"^\| (.+?) \| (.+?) \| .+ \|$", page, re.M))
    for name, row in ROWS.items():
        theirs = {Signals.SIGABRT: "abort", Signals.SIGSEGV: "segfault"}
        died = isinstance(row.theirs, Signals)
        assert listed[name] == (theirs[row.theirs] if died else "wrong output"), name
