"""Checking a call and shaping its outputs before torch sees it.

The portable kernels know the shape rules and have errors that name the argument, so theirs is the first
word; their step is thrown away. Torch's own rules, by way of meta tensors, serve the operators and types
that they lack: correct too, but the first use imports half of torch's compiler. The operator library's shape
rule comes after them, as kernels of torch rely on more than theirs check.
"""

from __future__ import annotations

import functools
from typing import Any, cast

import torch

from et_ops import Arg
from et_ops.dtypes import BY_NAME, DType
from et_ops.inference.meta import UNKNOWN, Meta, Mismatch
from et_ops.torch_operators import record_of
from et_schema.errors import Error, Trap
from et_schema.scalar_type import ScalarType
from et_vm.kernels import portable
from et_vm.kernels.aten.binding import meta_of, torch_dtype
from et_vm.kernels.aten.call import MEMORY_FORMATS, AtenCall
from et_vm.kernels.aten.schema import TorchOperator
from et_vm.kernels.registry import KernelRegistry, PrepareContext
from et_vm.values import Tensor

_MASKS = (torch.bool, torch.uint8)


@functools.cache
def _portable() -> KernelRegistry:
    return KernelRegistry([portable.register])


def shape_depends_on_data(call: AtenCall) -> bool:
    """Whether the outputs get their shapes only when the call is executed. Indexing does so with masks."""
    if not _has_dynamic_shape(call.op):
        return False
    if call.op.name != "aten::index.Tensor_out":
        return True
    indices: list[Tensor | None] = call.inputs[1]
    return any(index is not None and torch_dtype(index.scalar_type) in _MASKS for index in indices)


def _has_dynamic_shape(op: TorchOperator) -> bool:
    packet = op.overload.overloadpacket
    return any(torch.Tag.dynamic_output_shape in getattr(packet, name).tags for name in packet.overloads())


def shape_outputs(ctx: PrepareContext, call: AtenCall) -> bool:
    """Check `call` and resize its outputs; False when only its execution will tell their shapes.

    Raises Trap for arguments that the operator does not take, NotSupported for an output that cannot have
    the shape.
    """
    refused: Trap | None = None
    prepare = _portable().lookup(call.op.name, ())
    if prepare is not None:
        try:
            prepare(PrepareContext(ctx.op, instruction=ctx.instruction, frames=ctx.frames), *call.values)
        except Trap as trap:
            refused = trap
        else:
            return not shape_depends_on_data(call)
    try:
        ruled = _check_operands(call)
    except ValueError as problem:
        raise (refused or ctx.error(str(problem), code=Error.InvalidArgument)) from None
    shapes = None if shape_depends_on_data(call) else _infer(ctx, call, refused)
    # Also what torch is left to shape must fit its tensor, before torch allocates it.
    for out, shape in zip(call.outs, ruled or () if shapes is None else shapes, strict=shapes is not None):
        if shape is not None:
            out.resize(shape)
    return shapes is not None


def _infer(ctx: PrepareContext, call: AtenCall, refused: Trap | None) -> list[tuple[int, ...]] | None:
    """The shapes of the outputs by torch's rules, None where it has none."""
    positional, keywords = call.arguments(meta_of)
    outs = [torch.empty(0, dtype=torch_dtype(out.scalar_type), device="meta") for out in call.outs]
    try:
        call.op.overload(*positional, **call.with_outs(keywords, outs))
    except NotImplementedError:
        return None
    except (RuntimeError, TypeError, ValueError, IndexError, AssertionError, ArithmeticError) as problem:
        if refused is not None:
            raise refused from None
        raise ctx.error(first_line(problem), code=Error.InvalidArgument) from None
    return [tuple(out.shape) for out in outs]


def _check_operands(call: AtenCall) -> list[tuple[int, ...] | None] | None:
    """The shapes of the results by the operator library's shape rule, as far as it knows them. Raises `ValueError` for
    arguments that the operator does not take.
    """
    for out in call.outs:
        _dtype(out.scalar_type)
    record = record_of(call.op.name)
    if record is None:
        return None
    # What an operator in place calls `self` has another name in some functional forms.
    names = call.op.inputs if call.outs else record.schema.args
    given = {argument.name: value for value, argument in zip(call.inputs, names, strict=True)}
    known = [_known(given.get(argument.name), argument) for argument in record.schema.args]
    made = None if record.shape_rule is None else record.shape_rule(*known)
    if made is None or isinstance(made, DType):
        return None
    results = [made] if isinstance(made, Meta) else made
    if call.outs and len(results) != len(call.outs):
        raise Mismatch(call.op.outs[0].name, f"{len(results)} tensors", len(call.outs))
    return [None if result is None or UNKNOWN in result.shape else result.shape for result in results]


def _known(value: Any, argument: Arg) -> Any:
    """What shape rules know of an argument."""
    if isinstance(value, Tensor):
        return Meta(tuple(value.sizes), _dtype(value.scalar_type))
    if argument.type.base == "MemoryFormat" and value is not None and value not in MEMORY_FORMATS:
        raise Mismatch(argument.name, "a memory format", value)
    if isinstance(value, list):
        return tuple(_known(item, argument) for item in cast("list[Any]", value))
    if value is None or argument.type.base not in ("ScalarType", "MemoryFormat", "Layout"):
        # Rules take the least number for one that is not known: the next means the same to all of them.
        return UNKNOWN + 1 if type(value) is int and value == UNKNOWN else value
    return _dtype(value) if argument.type.base == "ScalarType" else None


@functools.cache
def _dtype(scalar_type: int) -> DType:
    name = ScalarType(scalar_type).torch_name
    for one in BY_NAME.values():
        if one.torch_name == name:
            return one
    raise ValueError(f"no operator takes elements of {name}")


def first_line(problem: BaseException) -> str:
    """The first line of what torch complains of; what follows are stacks and advice to its own developers."""
    text = str(problem).strip()
    return text.splitlines()[0] if text else type(problem).__name__


def check_in_place(ctx: PrepareContext, call: AtenCall) -> None:
    """The checks of an operator that writes to its own arguments. Raises Trap."""
    values: Any
    for values, argument in zip(call.inputs, call.op.inputs, strict=True):
        if argument.is_mutated and isinstance(values, Tensor) and values.constant:
            raise ctx.trap(arg=argument.name, expected="a mutable tensor", got="a constant")
    prepare = _portable().lookup(call.op.name, ())
    if prepare is not None:
        prepare(PrepareContext(ctx.op, instruction=ctx.instruction, frames=ctx.frames), *call.values)
        return
    try:
        _check_operands(call)
    except ValueError as problem:
        raise ctx.error(str(problem), code=Error.InvalidArgument) from None
