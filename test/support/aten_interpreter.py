"""Evaluate methods of `aten` and `edge` modules on torch tensors: the oracle of tests of importer and passes.

    interpreter = Interpreter(module)
    y, = interpreter.run(x)                    # method "forward"
    interpreter.run(x, method="step")          # state of mutable buffers is kept between runs

Each op calls torch's operator of that name. Tensors have no strides in the IR, so every value is made
contiguous. With `check_types`, the default, every result has to have the type that the module says, so that
wrong type inference shows at the op it is wrong for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    FloatAttr,
    IntegerAttr,
    ModuleOp,
    NoneType,
    StringAttr,
    TensorType,
    i1,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from et_ir.dialects.control import ScanOp, YieldOp
from et_ir.dialects.edge.attributes import dim_order_of
from et_ir.dialects.program import (
    ComputeOp,
    DataAttr,
    GetOp,
    GlobalOp,
    LiteralOp,
    LoadOp,
    OverwriteOp,
    RangeOp,
    StoreOp,
)
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.literals import element_type_name

DTYPES = {
    "ui8": torch.uint8, "i8": torch.int8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64,
    "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64,
    "i1": torch.bool, "complex<f16>": torch.complex32, "complex<f32>": torch.complex64,
    "complex<f64>": torch.complex128,
}  # fmt: skip
NAMED = {
    "contiguous_format": torch.contiguous_format, "preserve_format": torch.preserve_format,
    "channels_last": torch.channels_last, "channels_last_3d": torch.channels_last_3d,
}  # fmt: skip


class TypeMismatch(AssertionError):
    """An op's result is not of the type that the module gives it."""


def tensor_of(type: TensorType[Attribute], data: DataAttr | None) -> torch.Tensor:
    """The tensor of a symbol: its bytes are in the memory order of its type; zeros without data."""
    shape, dtype = type.get_shape(), DTYPES[element_type_name(type.element_type)]
    if data is None or data.blob.nbytes == 0:
        return torch.zeros(shape, dtype=dtype)
    order = dim_order_of(type)
    flat = torch.frombuffer(bytearray(data.blob.view()), dtype=dtype)
    stored = flat.reshape([shape[dim] for dim in order])
    return stored.permute([order.index(dim) for dim in range(len(order))])


def number_of(attr: Attribute) -> Any:
    """The Python value of a literal."""
    match attr:
        case IntegerAttr():
            return bool(attr.value.data) if attr.type == i1 else attr.value.data
        case FloatAttr():
            return attr.value.data
        case StringAttr():
            return attr.data
        case NoneType():
            return None
        case _:
            raise TypeError(f"no literal: {attr}")


def _dim_order_format(dim_order: tuple[int, ...] | None) -> torch.memory_format:
    if dim_order is None:
        return torch.preserve_format
    formats = {(0, 2, 3, 1): torch.channels_last, (0, 2, 3, 4, 1): torch.channels_last_3d}
    return formats.get(tuple(dim_order), torch.contiguous_format)


def clone_dim_order(self: torch.Tensor, *, non_blocking: bool = False, dim_order: Any = None) -> torch.Tensor:
    return self.clone(memory_format=_dim_order_format(dim_order))


def to_dim_order_copy(
    self: torch.Tensor, *, dtype: Any = None, dim_order: Any = None, **_: Any
) -> torch.Tensor:
    return torch.ops.aten._to_copy(self, dtype=dtype, memory_format=_dim_order_format(dim_order))


def empty_dim_order(size: Any, *, dtype: Any = None, dim_order: Any = None, **_: Any) -> torch.Tensor:
    return torch.zeros(size, dtype=dtype)


EXTRA: dict[str, Callable[..., Any]] = {
    "dim_order_ops._clone_dim_order": clone_dim_order,
    "dim_order_ops._to_dim_order_copy": to_dim_order_copy,
    "dim_order_ops._empty_dim_order": empty_dim_order,
}


def _operator(op: SchemaOp) -> Callable[..., Any]:
    name = op.name.partition(".")[2]
    if name in EXTRA:
        return EXTRA[name]
    schema = op.schema()
    packet = getattr(torch.ops.aten, schema.name)
    return getattr(packet, schema.overload or "default")


class Interpreter:
    """Runs methods of a module; keeps the state of mutable buffers."""

    def __init__(self, module: ModuleOp, *, check_types: bool = True):
        self.check_types = check_types
        self.methods = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, FuncOp)}
        self.overwritten: dict[int, torch.Tensor] = {}
        """The caller's inputs after a method that writes to them."""
        self.symbols = {
            op.key: tensor_of(op.type, op.value) for op in module.body.block.ops if isinstance(op, GlobalOp)
        }

    def run(self, *inputs: Any, method: str = "forward") -> list[Any]:
        """The outputs of a method, flat, for its inputs, flat: tensors, Python numbers, strings or None."""
        block = self.methods[method].body.block
        if len(inputs) != len(block.args):
            raise TypeError(f"{method} takes {len(block.args)} inputs, got {len(inputs)}")
        return self._run_block(block, inputs, {})

    def _run_block(self, block: Block, inputs: Sequence[Any], outside: Mapping[SSAValue, Any]) -> list[Any]:
        """What a block returns or yields, for its arguments and the values around it."""
        values: dict[SSAValue, Any] = {
            **outside,
            **dict(zip(block.args, map(_contiguous, inputs), strict=True)),
        }
        for op in block.ops:
            operands = [values[operand] for operand in op.operands]
            if isinstance(op, ReturnOp | YieldOp):
                return operands
            results = self._scan(op, values) if isinstance(op, ScanOp) else self.evaluate(op, operands)
            for result, value in zip(op.results, results, strict=True):
                if self.check_types:
                    self._check(op, result, value)
                values[result] = _contiguous(value)
        raise TypeError("a block ends without func.return or control.yield")

    def _scan(self, op: ScanOp, values: Mapping[SSAValue, Any]) -> list[Any]:
        """The last state and the stacks."""
        state = [values[value] for value in op.inits]
        stacks: list[list[Any]] = [[] for _ in op.stacked]
        for slices in zip(*(values[value] for value in op.sequences), strict=True):
            yielded = self._run_block(op.body.block, [*state, *slices], values)
            state = yielded[: len(state)]
            for stack, item in zip(stacks, yielded[len(state) :], strict=True):
                stack.append(item)
        return [*state, *map(torch.stack, stacks)]

    def evaluate(self, op: Operation, operands: list[Any]) -> list[Any]:
        """The results of one op."""
        match op:
            case GetOp() | LoadOp():
                return [self.symbols[op.symbol.string_value()]]
            case StoreOp():
                self.symbols[op.symbol.string_value()] = operands[0].clone()
                return []
            case OverwriteOp():
                target = op.target
                assert isinstance(target, BlockArgument)
                self.overwritten[target.index] = operands[1].clone()
                return []
            case LiteralOp():
                return [number_of(op.value)]
            case ComputeOp():
                return [op.evaluate(operands)]
            case RangeOp():
                number: Any = operands[0]
                assert op.least is None or op.least <= number
                assert op.most is None or number <= op.most
                return []
            case SchemaOp():
                return _call(op, operands)
            case _:
                raise NotImplementedError(op.name)

    def _check(self, op: Operation, result: SSAValue, value: Any) -> None:
        type = result.type
        if not isinstance(type, TensorType):
            return
        shape = type.get_shape()
        fits = len(shape) == value.dim() and all(
            a in (b, DYNAMIC_INDEX) for a, b in zip(shape, value.shape, strict=True)
        )
        if not fits or DTYPES[element_type_name(type.element_type)] != value.dtype:
            raise TypeMismatch(
                f"'{op.name}' yields {tuple(value.shape)} {value.dtype}, the module says {type}"
            )


def _contiguous(value: Any) -> Any:
    return value.contiguous() if isinstance(value, torch.Tensor) else value


def _call(op: SchemaOp, operands: list[Any]) -> list[Any]:
    """Call torch's operator on evaluated operands."""
    by_value = dict(zip(op.operands, operands, strict=True))

    def evaluated(value: Any) -> Any:
        if isinstance(value, SSAValue):
            return by_value[value]
        if isinstance(value, tuple):
            return [evaluated(item) for item in value]
        return value

    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for arg in op.schema().args:
        value = evaluated(op.arg(arg.name))
        if value is None and not arg.type.is_tensor and not arg.type.optional:
            continue
        match arg.type.base:
            case "ScalarType" if isinstance(value, Attribute):
                value = DTYPES[element_type_name(value)]
            case "MemoryFormat" if isinstance(value, str):
                value = NAMED[value]
            case "Layout" if isinstance(value, str):
                value = getattr(torch, value)
            case _:
                pass
        if arg.kwarg_only:
            kwargs[arg.name] = value
        else:
            args.append(value)
    with torch.no_grad():
        found = _operator(op)(*args, **kwargs)
    if found is None:
        return []
    return list(found) if isinstance(found, list | tuple) else [found]


__all__ = ["Interpreter", "TypeMismatch", "tensor_of"]
