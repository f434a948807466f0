"""Programs to read and write: one small by hand, and seeded random trees over the whole schema."""

from __future__ import annotations

import random
import typing
from collections.abc import Callable
from dataclasses import fields
from enum import IntEnum
from typing import Any

import pytest

from et_schema import program as schema
from et_schema.program import (
    AllocationDetails,
    BackendDelegate,
    BackendDelegateDataReference,
    BackendDelegateInlineData,
    Bool,
    BoolList,
    Chain,
    CompileSpec,
    ContainerMetadata,
    DataLocation,
    DelegateCall,
    Double,
    DoubleList,
    EValue,
    ExecutionPlan,
    ExtraTensorInfo,
    Frame,
    FrameList,
    FreeCall,
    Instruction,
    Int,
    IntList,
    JumpFalseCall,
    KernelCall,
    MoveCall,
    NamedData,
    Null,
    Operator,
    OptionalTensorList,
    Program,
    String,
    SubsegmentOffsets,
    Tensor,
    TensorList,
    TensorShapeDynamism,
)
from et_schema.scalar_type import ScalarType


def build_program() -> tuple[Program, list[list[bytes]]]:
    """Every table and union member of the schema, with two segments. It loads; it was not made to run."""
    values = [
        Tensor(ScalarType.FLOAT, 0, [2, 3], b"\x00\x01", allocation_info=AllocationDetails(1, 64, 1)),
        Tensor(
            ScalarType.LONG,
            0,
            [4],
            b"\x00",
            requires_grad=True,
            data_buffer_idx=1,
            shape_dynamism=TensorShapeDynamism.DYNAMIC_BOUND,
            extra_tensor_info=ExtraTensorInfo(2**40, "fc.weight", device_index=-1),
        ),
        Int(-(2**63)),
        Bool(True),
        Double(-0.0),
        String("naïve"),
        IntList([2, 2]),
        DoubleList([1.5, float("inf")]),
        BoolList([True, False, True]),
        TensorList([0, 1]),
        OptionalTensorList([0, -1]),
        Null(),
    ]
    instructions = [
        KernelCall(0, [0, 1, 2, 0, 0]),
        DelegateCall(0, [0, 1]),
        MoveCall(0, 1),
        JumpFalseCall(3, 4),
        FreeCall(0),
    ]
    plan = ExecutionPlan(
        "forward",
        ContainerMetadata("inputs", "outputs"),
        [EValue(value) for value in values],
        [0],
        [1],
        [
            Chain(
                [],
                [],
                [Instruction(call) for call in instructions],
                [FrameList([Frame("model.py", 12, "forward", "return x + y")]) for _ in instructions],
            )
        ],
        [Operator("aten::add", "out")],
        [
            BackendDelegate(
                "Inline", BackendDelegateDataReference(DataLocation.INLINE, 0), [CompileSpec("a", b"xyz")]
            ),
            BackendDelegate("Segment", BackendDelegateDataReference(DataLocation.SEGMENT, 1)),
        ],
        [0, 4096],
    )
    program = Program(
        execution_plan=[plan],
        backend_delegate_data=[BackendDelegateInlineData(b"inline blob")],
        constant_segment=SubsegmentOffsets(0, [0, 16]),
        mutable_data_segments=[SubsegmentOffsets(0, [0, 0])],
        named_data=[NamedData("blob", 1)],
    )
    return program, [[b"c" * 20, b"d" * 28], [b"delegate"]]


@pytest.fixture
def program() -> tuple[Program, list[list[bytes]]]:
    return build_program()


INTEGERS = {
    "layout": (-128, 127),
    "device_index": (-128, 127),
    "mutable_data_segments_idx": (0, 2**64 - 1),
    "int_val": (-(2**63), 2**63 - 1),
    "offset": (0, 2**64 - 1),
    "size": (0, 2**64 - 1),
    "storage_offset": (-(2**31), 2**31 - 1),
}


def random_value(rng: random.Random, annotation: Any, name: str) -> Any:
    """A value for a field: zeros, extremes and lists of up to 20 elements."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is list:
        low = -1 if arguments[0] is int and name == "sizes" else 0
        return [random_value(rng, arguments[0], name) for _ in range(max(0, rng.randint(low - 1, 3)))] * (
            rng.choice((1, 1, 5))
        )
    if arguments:
        choices = [item for item in arguments if item is not type(None)]
        if bytes in choices:
            return rng.randbytes(rng.randint(0, 40))
        return None if rng.random() < 0.2 else random_value(rng, rng.choice(choices), name)
    if annotation is int:
        low, high = INTEGERS.get(name, (0, 2**31 - 1))
        return rng.choice((0, 0, low, high, rng.randint(low, high)))
    if annotation is float:
        return rng.choice((0.0, -0.0, 1.5, float("inf"), rng.uniform(-1e300, 1e300)))
    if annotation is bool:
        return rng.random() < 0.5
    if annotation is str:
        return rng.choice(("", "x", "aten::add", "größe", "日本語" * 9))
    if annotation is bytes:
        return rng.randbytes(rng.randint(0, 70))
    if issubclass(annotation, IntEnum):
        return rng.choice(list(annotation))
    hints = typing.get_type_hints(annotation)
    return annotation(*(random_value(rng, hints[field.name], field.name) for field in fields(annotation)))


@pytest.fixture
def random_program() -> Callable[[int], schema.Program]:
    return lambda seed: random_value(random.Random(seed), schema.Program, "")
