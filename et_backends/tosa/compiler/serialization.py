"""From the `tosa` dialect to files, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

import numpy as np
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue

from et_backends.tosa.dialect import OP_CLASSES, ConstOp, ConstShapeOp, TosaOp
from et_backends.tosa.dialect.attributes import shape_numbers, type_of
from et_backends.tosa.dialect.ops import INLINE_ELEMENTS, tensor_of
from et_backends.tosa.format.blob import (
    DATA_ALIGNMENT,
    block_of,
    constant_data,
    shape_sizes,
    tensors_by_name,
)
from et_backends.tosa.format.graph import (
    ConstAttribute,
    ConstShapeAttribute,
    DType,
    Op,
    TosaBasicBlock,
    TosaGraph,
    TosaOperator,
    TosaRegion,
    TosaShape,
    TosaTensor,
    Version,
)
from et_backends.tosa.format.operators import ATTRIBUTES, TosaType, numpy_name
from et_ir.data import Blob
from et_ir.dialects.program import DataAttr
from et_schema.errors import InvalidFile
from et_schema.tables import fields_of

__all__ = ["graph_of", "module_of"]

_MAIN: Final = "main"


def graph_of(module: ModuleOp, version: tuple[int, int] = (1, 0)) -> TosaGraph:
    """The file of a module with one method, whose ops are all of the dialect.

    Version 1.1 is a draft. Raises `ValueError` for an op of another dialect.
    """
    method = next(op for op in module.body.block.ops if isinstance(op, FuncOp))
    block = TosaBasicBlock(_MAIN)
    names: dict[SSAValue, str] = {}

    def named(value: SSAValue) -> str:
        name = names[value] = f"t{len(names)}"
        return name

    def declared(value: SSAValue, data: bytes | None = None) -> str:
        type = type_of(value)
        block.tensors.append(TosaTensor(named(value), list(type.shape), type.dtype, data))
        return names[value]

    for argument in method.body.block.args:
        block.inputs.append(declared(argument))
    for op in method.body.block.ops:
        if isinstance(op, ReturnOp):
            block.outputs = _outputs(block, [names[value] for value in op.arguments])
        elif isinstance(op, ConstShapeOp):
            numbers = shape_numbers(op.output)
            assert numbers is not None
            data = np.array(numbers, "<i8").tobytes()
            block.shapes.append(TosaShape(named(op.output), len(numbers), data))
            block.operators.append(
                TosaOperator(Op.CONST_SHAPE, ConstShapeAttribute(), outputs=[names[op.output]])
            )
        elif isinstance(op, ConstOp):
            data = op.array().tobytes()
            data += b"\0" * (-len(data) % DATA_ALIGNMENT)
            block.operators.append(
                TosaOperator(Op.CONST, ConstAttribute(), outputs=[declared(op.output, data)])
            )
        elif isinstance(op, TosaOp):
            inputs = [names[value] for value in op.inputs]
            block.operators.append(TosaOperator(op.op, op.table(), inputs, [declared(op.output)]))
        else:
            raise ValueError(f"{op.name} is not an op of the tosa dialect")
    major, minor = version
    return TosaGraph(Version(major, minor, 0, minor > 0), [TosaRegion(_MAIN, [block])])


def _outputs(block: TosaBasicBlock, names: list[str]) -> list[str]:
    """The names of results; one that is an input, a constant or another result too is copied first."""
    types = {tensor.name: tensor for tensor in block.tensors}
    constants = {op.outputs[0] for op in block.operators if op.op is Op.CONST}
    found: list[str] = []
    for name in names:
        if name not in block.inputs and name not in found and name not in constants:
            found.append(name)
            continue
        copy = f"{name}_copy{len(found)}"
        block.tensors.append(TosaTensor(copy, list(types[name].shape), types[name].type))
        block.operators.append(
            TosaOperator(Op.IDENTITY, ATTRIBUTES[Op.IDENTITY](), inputs=[name], outputs=[copy])
        )
        found.append(copy)
    return found


def module_of(graph: TosaGraph, named_data: Mapping[str, memoryview] | None = None) -> ModuleOp:
    """A file as a module with the method `main`; `named_data` is that of the program. Raises `InvalidFile`."""
    source = block_of(graph)
    tensors = tensors_by_name(source)
    shapes = {shape.name: shape for shape in source.shapes}

    def type_named(name: str) -> TosaType:
        return TosaType(tuple(tensors[name].shape), tensors[name].type)

    inputs = [tensor_of(*_swapped(type_named(name))) for name in source.inputs]
    block = Block(arg_types=inputs)
    values: dict[str, SSAValue] = dict(zip(source.inputs, block.args, strict=True))
    for op in source.operators:
        (name,) = op.outputs
        if op.op is Op.CONST_SHAPE:
            made = ConstShapeOp(shape_sizes(shapes[name]))
        elif op.op is Op.CONST:
            made = _constant(name, type_named(name), bytes(constant_data(tensors[name], named_data or {})))
        else:
            table = op.attribute or ATTRIBUTES[op.op]()
            fields = {item.name: getattr(table, item.name) for item in fields_of(ATTRIBUTES[op.op])}
            try:
                made = OP_CLASSES[op.op](
                    [values[one] for one in op.inputs], fields, result=tensors[name].type
                )
            except ValueError as error:
                raise InvalidFile(f"{op.op.name}: {error}") from error
        block.add_op(made)
        values[name] = cast(SSAValue, made.results[0])
    results = [values[name] for name in source.outputs]
    block.add_op(ReturnOp(*results))
    type = FunctionType.from_lists(inputs, [value.type for value in results])
    return ModuleOp([FuncOp(_MAIN, type, Region(block))])


def _swapped(type: TosaType) -> tuple[DType, tuple[int, ...]]:
    return type.dtype, type.shape


def _constant(name: str, type: TosaType, stored: bytes) -> ConstOp:
    tensor = tensor_of(type.dtype, type.shape)
    count = int(np.prod(type.shape, dtype=np.int64))
    if count > INLINE_ELEMENTS:
        return ConstOp(DataAttr.of(tensor.element_type, Blob.of(name, stored)), tensor)
    return ConstOp.of(np.frombuffer(stored, numpy_name(type.dtype)).reshape(type.shape), type.dtype, name)
