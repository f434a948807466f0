"""The edge verifier takes every element type that torch's CPU kernels take, by torch's own test inputs."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._python_dispatch import TorchDispatchMode

from et_ir.dialects.aten.inference.dtypes import DType, dtype_of
from et_ir.dialects.edge.dtypes import CONSTRAINTS
from et_ir.dialects.edge.promotion import PROMOTIONS
from et_ir.dialects.schema.literals import ELEMENT_TYPES

DTYPES = {
    torch.uint8: "ui8", torch.int8: "i8", torch.int16: "i16", torch.int32: "i32", torch.int64: "i64",
    torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32", torch.float64: "f64", torch.bool: "i1",
    torch.complex32: "complex<f16>", torch.complex64: "complex<f32>", torch.complex128: "complex<f64>",
}  # fmt: skip
SAMPLES = 3
"""Inputs taken per operator and type: the types are what matters."""

PACKETS = {name.partition(".")[0].lstrip("_") for name in CONSTRAINTS}

Call = tuple[str, tuple[tuple[str, tuple[DType, ...]], ...]]


class Recorder(TorchDispatchMode):
    """Notes the operators that torch runs, with the element types of their tensor arguments."""

    def __init__(self, calls: set[Call]) -> None:
        super().__init__()
        self.calls = calls

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        schema = func._schema
        name = schema.name.removeprefix("aten::") + (
            f".{schema.overload_name}" if schema.overload_name else ""
        )
        if name in CONSTRAINTS:
            values = dict(zip((a.name for a in schema.arguments), args, strict=False)) | (kwargs or {})
            found = ((arg, dtypes_of(value)) for arg, value in values.items())
            self.calls.add((name, tuple(entry for entry in found if entry[1])))
        return result


def dtypes_of(value: Any) -> tuple[DType, ...]:
    items: Sequence[Any] = value if isinstance(value, list | tuple) else (value,)
    tensors = [item for item in items if isinstance(item, torch.Tensor)]
    return tuple(dtype_of(ELEMENT_TYPES[DTYPES[t.dtype]]) for t in tensors if t.dtype in DTYPES)


def recorded() -> set[Call]:
    calls: set[Call] = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for op in (op for op in op_db if op.aten_name in PACKETS or op.name in PACKETS):
            for dtype in op.dtypes:
                try:
                    samples = list(itertools.islice(op.sample_inputs("cpu", dtype), SAMPLES))
                except Exception:  # generators of some operators need what this machine lacks
                    continue
                for sample in samples:
                    try:
                        with Recorder(calls), torch.no_grad():
                            op(sample.input, *sample.args, **sample.kwargs)
                    except Exception:  # not every sample is one that the CPU runs
                        continue
    return calls


def test_what_torch_runs_verifies() -> None:
    calls = recorded()
    wrong: list[str] = []
    for name, arguments in sorted(calls, key=str):
        given = dict(arguments)
        for constraint in CONSTRAINTS[name]:
            types = {dtype for arg in constraint.args for dtype in given.get(arg, ())}
            if len(types) > 1 and name not in PROMOTIONS and constraint.args != ("indices",):
                wrong.append(f"{name} mixes {types} in {constraint.args}")
            wrong.extend(
                f"{name} takes {dtype} for {constraint.args}, the table says {constraint.label}"
                for dtype in types
                if dtype not in constraint.types
            )
    assert not wrong, "\n".join(wrong)
    assert len({name for name, _ in calls}) >= 0.6 * len(CONSTRAINTS), "the recorder sees too few operators"
