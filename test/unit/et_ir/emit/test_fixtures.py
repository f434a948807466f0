"""Frozen files as text and back: the canonical form, which is a fixed point."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.dialects.func import Func

from et_ir.data.store import WeightStore
from et_ir.driver.stages import run_pipeline
from et_ir.emit import disassemble, write
from et_ir.text import (
    parse_module,
    print_module,
    resolve_weights,
    save_text,
    store_path,
    stored_constants,
)
from et_ir.universe import dialect_factories
from et_schema.pte import read_pte

FIXTURES = Path(__file__).parents[3] / "fixtures"
FILES = sorted([*FIXTURES.glob("*.pte"), *(FIXTURES / "stock").glob("*.pte")])


def again(file: bytes, folder: Path) -> bytes:
    """The file that the text of a file makes."""
    module = disassemble(read_pte(file))
    stream = io.StringIO()
    print_module(module, stream, debuginfo=True)
    path = folder / "fixture.mlir"
    save_text(path, stream.getvalue(), stored_constants(module))
    context = Context()
    context.load_dialect(Builtin)
    context.load_dialect(Func)
    for name, factory in dialect_factories().items():
        context.register_dialect(name, factory)
    parsed = parse_module(context, path.read_text(), path.name)
    if store_path(path).exists():
        resolve_weights(parsed, WeightStore(store_path(path)))
    run_pipeline(parsed, "verify-executorch")
    written = io.BytesIO()
    write(parsed, written)
    return written.getvalue()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_text_and_back(path: Path, tmp_path: Path) -> None:
    """Once for the canonical form, in which values have new numbers; from then on the same bytes."""
    canonical = again(path.read_bytes(), tmp_path)
    assert again(canonical, tmp_path) == canonical


def facts(file: bytes) -> list[Any]:
    """The invariants of every form of a program: methods with inputs, outputs, arenas and calls in order."""
    program = read_pte(file).program
    return sorted(
        (
            plan.name,
            [type(plan.values[register].val).__name__ for register in plan.inputs],
            [type(plan.values[register].val).__name__ for register in plan.outputs],
            plan.non_const_buffer_sizes,
            sum(len(chain.instructions) for chain in plan.chains),
            sorted(f"{operator.name}.{operator.overload}" for operator in plan.operators),
            [delegate.id for delegate in plan.delegates],
        )
        for plan in program.execution_plan
    )


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_canonical_form_is_the_same_program(path: Path, tmp_path: Path) -> None:
    file = path.read_bytes()
    assert facts(again(file, tmp_path)) == facts(file)
