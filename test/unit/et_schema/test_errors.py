from __future__ import annotations

import copy
import pickle

import pytest

from et_schema.errors import (
    Error,
    ExecutorchError,
    InputError,
    InvalidFile,
    MissingBackend,
    MissingOperator,
    OutOfMemory,
    Trap,
)
from et_schema.program import Frame


def test_message_has_code_place_and_hint() -> None:
    error = ExecutorchError(
        Error.InvalidProgram,
        "bad size",
        where="execution_plan[0].values[1]",
        offset=448,
        hint="export it again",
    )
    expected = "InvalidProgram (0x23): bad size at execution_plan[0].values[1], byte 0x1c0; export it again"
    assert str(error) == expected


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ExecutorchError(Error.Internal, "oops"), "Internal (0x01): oops"),
        (InvalidFile("bad", offset=0), "InvalidProgram (0x23): bad at byte 0x0"),
        (InvalidFile("short", code=Error.InvalidArgument), "InvalidArgument (0x12): short"),
        (MissingOperator(["aten::add.out"]), "OperatorMissing (0x14): no kernel for aten::add.out"),
        (MissingOperator(["a", "b"]), "OperatorMissing (0x14): no kernels for 2 operators: a, b"),
        (MissingBackend("XNNPACK"), "NotFound (0x20): no backend named 'XNNPACK'"),
        (InputError("rank 3, not 4", where="input 0"), "InvalidArgument (0x12): rank 3, not 4 at input 0"),
        (
            OutOfMemory("arena 1 is too small", needed=9),
            "MemoryAllocationFailed (0x21): arena 1 is too small",
        ),
        (
            Trap(
                "shapes differ", instruction=3, operator="aten::add.out", frames=[Frame("m.py", 7, "forward")]
            ),
            "InvalidArgument (0x12): shapes differ\n"
            "  in instruction 3: aten::add.out\n"
            "  from m.py:7 in forward",
        ),
        (Trap("stopped", operator="aten::add.out"), "InvalidArgument (0x12): stopped\n  in aten::add.out"),
        (Trap("stopped", instruction=0), "InvalidArgument (0x12): stopped\n  in instruction 0"),
    ],
)
def test_texts(error: ExecutorchError, text: str) -> None:
    assert str(error) == text
    assert str(pickle.loads(pickle.dumps(error))) == text
    assert type(copy.copy(error)) is type(error)


def test_nest_builds_the_path_from_the_inside() -> None:
    error = InvalidFile("bad")
    for name in ("sizes", "val", "values[12]"):
        error.nest(name)
    assert error.where == "values[12].val.sizes"
