"""Calls of aten operators on real tensors, and their ops. They are recorded as by `torch.export`."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, cast
from unittest import mock

import torch
from torch._ops import OpOverload
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils import _pytree
from xdsl.dialects.builtin import ModuleOp, TensorType, f64, i1, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue

from et_ir.dialects.aten import OP_BY_NAME, AtenOp
from et_ir.dialects.program import LiteralOp
from et_ir.dialects.schema.literals import ELEMENT_TYPES

__all__ = [
    "DTYPES",
    "NotExpressible",
    "RecordedCall",
    "module_of",
    "op_samples",
    "quick_samples",
    "recorded_calls",
    "result_type",
    "results_of",
    "sampled_calls",
    "tensor_type",
]

DTYPES: Final = {
    torch.uint8: "ui8", torch.int8: "i8", torch.int16: "i16", torch.int32: "i32", torch.int64: "i64",
    torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32", torch.float64: "f64", torch.bool: "i1",
    torch.complex32: "complex<f16>", torch.complex64: "complex<f32>", torch.complex128: "complex<f64>",
}  # fmt: skip
"""Names of the element types that tensors can have, by torch's dtype."""

# Torch leaves these without types, or without public names.
_pytree_any: Any = _pytree
_map_only: Callable[..., Any] = _pytree_any.tree_map_only
_leaves: Callable[..., list[Any]] = _pytree_any.tree_leaves


class NotExpressible(Exception):
    """The call has an argument that the dialect has no place for, such as a complex number."""


@dataclass
class RecordedCall:
    """One call of an operator on real tensors."""

    target: OpOverload[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    results: tuple[Any, ...]

    @property
    def name(self) -> str:
        """The operator's name as the dialect has it."""
        return self.target.name().removeprefix("aten::").replace("::", ".")

    def __str__(self) -> str:
        def show(value: Any) -> str:
            if isinstance(value, torch.Tensor):
                return f"{DTYPES.get(value.dtype, value.dtype)}{list(value.shape)}"
            if isinstance(value, list | tuple):
                return "[" + ", ".join(map(show, _leaves(value))) + "]"
            return repr(value)

        named = [f"{key}={show(value)}" for key, value in self.kwargs.items()]
        return f"{self.name}({', '.join([*map(show, self.args), *named])})"


def results_of(result: Any) -> tuple[Any, ...]:
    """The result of a call as an op's results: a tuple or list is several, a list among several too."""
    return () if result is None else tuple(_leaves(result))


def _is_functional(target: Any) -> bool:
    return (
        isinstance(target, OpOverload)
        and target.namespace == "aten"
        and not cast(Any, target)._schema.is_mutable
    )


class _Recorder(torch.fx.Interpreter):
    def __init__(self, module: torch.fx.GraphModule):
        super().__init__(module)
        self.calls: list[RecordedCall] = []

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        # Later calls may write to arguments, and to results, which may be views of them.
        kept_args, kept_kwargs = _map_only(torch.Tensor, torch.clone, (args, kwargs))
        result: Any = super().call_function(target, args, kwargs)
        if _is_functional(target):
            kept = _map_only(torch.Tensor, torch.clone, results_of(result))
            self.calls.append(RecordedCall(target, kept_args, kept_kwargs, kept))
        return result


def recorded_calls(function: Any, *args: Any, **kwargs: Any) -> list[RecordedCall]:
    """The calls a function makes, of composite operators too. Raises what tracing or running it raises."""

    def run(args: Any, kwargs: Any) -> Any:
        return function(*args, **kwargs)

    with torch.no_grad():
        traced = make_fx(run, tracing_mode="fake", pre_dispatch=True, _allow_non_fake_inputs=True)(
            args, kwargs
        )
        recorder = _Recorder(traced)
        recorder.run(*_leaves((args, kwargs)))
    return recorder.calls


@contextmanager
def quick_samples() -> Generator[None]:
    """Samples of OpInfo are given here without what takes torch longer than most samples, and are the same.

    Torch looks for the test case that asks, and reads the sources of all functions on the stack for it; there is none.
    It seeds every device before each sample, and for devices that are not initialized keeps a formatted stack of each
    call: only the generator of the CPU is seeded here.
    """
    from torch.testing._internal import common_utils
    from torch.testing._internal.opinfo import core

    with (
        mock.patch.object(torch, "manual_seed", torch.default_generator.manual_seed),
        mock.patch.object(common_utils, "extract_test_fn", return_value=None),
        mock.patch.object(core, "extract_test_fn", return_value=None),
    ):
        yield


def op_samples(op_info: Any, dtype: torch.dtype) -> list[Any]:
    """All samples of an operator, given its OpInfo."""
    with quick_samples():
        return list(op_info.sample_inputs("cpu", dtype, requires_grad=False))


def sampled_calls(op_info: Any, dtype: torch.dtype, limit: int) -> Iterator[RecordedCall]:
    """Calls that samples of an operator make, given its OpInfo; samples that cannot be traced give none."""
    samples = op_samples(op_info, dtype)
    for sample in samples[:: max(1, len(samples) // limit)][:limit]:
        try:
            yield from recorded_calls(op_info.op, sample.input, *sample.args, **sample.kwargs)
        except Exception:
            continue


# -- calls in the IR


def tensor_type(tensor: torch.Tensor) -> TensorType[Attribute]:
    """The type of a tensor. Raises `NotExpressible` for one that is not dense or of an unknown dtype."""
    if tensor.layout != torch.strided or tensor.is_nested or tensor.dtype not in DTYPES:
        raise NotExpressible(f"a tensor of {tensor.dtype}, {tensor.layout}")
    return TensorType(ELEMENT_TYPES[DTYPES[tensor.dtype]], list(tensor.shape))


def result_type(value: Any) -> Attribute:
    """The type of one result of a call, a tensor or a number. Raises `NotExpressible` for anything else."""
    if isinstance(value, torch.Tensor):
        return tensor_type(value)
    if isinstance(value, bool):
        return i1
    if isinstance(value, int | float):
        return i64 if isinstance(value, int) else f64
    raise NotExpressible(f"a result {value!r}")


def module_of(call: RecordedCall, *, infer: bool = False) -> tuple[ModuleOp, AtenOp, list[torch.Tensor]]:
    """A module whose method `forward` makes the call, its op, and the method's inputs.

    Result types are inferred if so asked, else those of the results. Raises `NotExpressible`.
    """
    cls = OP_BY_NAME.get(call.name)
    if cls is None:
        raise NotExpressible(f"the dialect has no {call.name}")
    inputs: list[torch.Tensor] = []
    block = Block()

    def operand(value: Any) -> SSAValue | None:
        if value is None:
            return None
        if isinstance(value, torch.Tensor):
            inputs.append(value)
            return block.insert_arg(tensor_type(value), len(block.args))
        if isinstance(value, bool | int | float):
            literal = LiteralOp(value)
            block.add_op(literal)
            return literal.result
        raise NotExpressible(f"an operand {value!r}")

    values = dict(zip((arg.name for arg in cls.schema().args), call.args, strict=False)) | call.kwargs
    for name, value in values.items():
        type = cls.schema().by_name[name].type
        if type.is_tensor and value is not None:
            values[name] = [operand(item) for item in value] if type.is_list else operand(value)
        elif isinstance(value, torch.dtype):
            values[name] = ELEMENT_TYPES[DTYPES[value]]
        elif isinstance(value, torch.device | torch.layout | torch.memory_format):
            values[name] = str(value).removeprefix("torch.")
        elif isinstance(value, complex):
            raise NotExpressible("a complex number")
    types = None if infer else [result_type(result) for result in call.results]
    op = cls.make(**values, result_types=types)
    block.add_ops([op, ReturnOp(*op.results)])
    function = FuncOp("forward", ([a.type for a in block.args], [r.type for r in op.results]), Region(block))
    return ModuleOp([function]), op, inputs
