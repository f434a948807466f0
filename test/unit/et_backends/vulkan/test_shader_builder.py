"""Shaders under construction: constants, arithmetic on indices, capabilities."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    IntegerType,
    VectorType,
    f32,
    f64,
    i32,
)

from et_backends.vulkan.compiler.shader_builder import Index, ShaderBuilder, integer_of
from et_backends.vulkan.dialect import (
    ConstantOp,
    InstructionOp,
    PointerType,
    RuntimeArrayType,
    StructType,
    VariableOp,
)
from et_backends.vulkan.format.spirv import Op, StorageClass


def instructions(builder: ShaderBuilder) -> list[str]:
    shader = builder.finish("one")
    shader.verify()
    return [op.op.name for op in shader.walk() if isinstance(op, InstructionOp)]


def test_each_constant_is_declared_once() -> None:
    builder = ShaderBuilder()
    same = {builder.number(3), builder.constant(IntegerAttr.from_index_int_value(3)), builder.value(3)}
    assert len(same) == 1
    vector = DenseIntOrFPElementsAttr.from_list(VectorType(i32, [1]), [3])
    assert builder.constant(vector) in same
    assert integer_of(builder.number(3)) == 3
    constants = [op for op in builder.finish("one").walk() if isinstance(op, ConstantOp)]
    assert len(constants) == 1


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (lambda b, x: b.plus(2, 3), 5),
        (lambda b, x: b.minus(2, 3), -1),
        (lambda b, x: b.times(2, 3), 6),
        (lambda b, x: b.plus(x, 0), "x"),
        (lambda b, x: b.plus(0, x), "x"),
        (lambda b, x: b.minus(x, 0), "x"),
        (lambda b, x: b.times(x, 1), "x"),
        (lambda b, x: b.times(1, x), "x"),
        (lambda b, x: b.times(x, 0), 0),
    ],
)
def test_arithmetic_on_known_indices_makes_no_instructions(expression, expected) -> None:
    builder = ShaderBuilder()
    x: Index = builder.make(InstructionOp(Op.IAdd, [builder.number(1), builder.number(2)]))
    found = expression(builder, x)
    assert (found is x) if expected == "x" else (found == expected)
    assert instructions(builder) == ["IAdd"]


def test_arithmetic_on_values() -> None:
    builder = ShaderBuilder()
    x = builder.make(InstructionOp(Op.IAdd, [builder.number(1), builder.number(2)]))
    builder.compare(Op.SLessThan, builder.times(builder.minus(builder.plus(x, 4), x), 5), x)
    assert instructions(builder) == ["IAdd", "IAdd", "ISub", "IMul", "SLessThan"]


def test_capabilities_of_types() -> None:
    builder = ShaderBuilder()
    block = StructType.of([RuntimeArrayType(IntegerType(8))])
    builder.declare(VariableOp(PointerType.of(StorageClass.StorageBuffer, block), binding=0), IntegerType(8))
    builder.make(
        InstructionOp(
            Op.FConvert, [builder.make(InstructionOp(Op.ConvertSToF, [builder.number(1)], f32))], f64
        )
    )
    names = [one.data for one in builder.finish("one").capabilities]
    assert names == ["Shader", "Float64", "Int8", "StorageBuffer8BitAccess"]
