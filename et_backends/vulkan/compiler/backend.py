"""Compilation of a partition to a blob: SPIR-V shaders, dispatches and packed constants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, f16, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, SSAValue

from et_backends.codegen.dialect import KERNEL, KernelOp
from et_backends.codegen.dialect.types import memref_type
from et_backends.codegen.elements import nbytes
from et_backends.vulkan.compiler.binary import encode_shader
from et_backends.vulkan.compiler.pipeline import Shaders, shaders_of
from et_backends.vulkan.dialect import AtomicMinimumOp, DispatchOp, ShaderOp
from et_backends.vulkan.format.blob import (
    ALIGNMENT,
    BACKEND,
    VERSION,
    VulkanBuffer,
    VulkanConstant,
    VulkanDispatch,
    VulkanMemory,
    VulkanMessage,
    VulkanProgram,
    VulkanShader,
    VulkanTensor,
    read_vulkan,
    serialize_vulkan,
)
from et_ir.data import Blob
from et_ir.delegation.delegate_mapping import DelegateMappingBuilder
from et_ir.delegation.details import BackendDetails, PreprocessResult
from et_ir.delegation.named_data import NamedDataStore
from et_ir.delegation.specs import CompileSpec
from et_ir.dialects.edge.attributes import dim_order_of
from et_ir.dialects.executorch.layout import scalar_type
from et_ir.dialects.schema.tensors import tensor_type
from et_ir.driver.stages import run_pipeline

__all__ = ["STORAGE_SPEC", "SpirvBackend"]

STORAGE_SPEC: Final = "storage"
"""The compile spec with the type that floats are stored in on the device, `f32` or `f16`."""

_MOST_HALF: Final = 65504.0


class SpirvBackend(BackendDetails):
    """Compiles partitions to compute shaders. Its delegate debug identifiers are the numbers of kernels."""

    backend_id = BACKEND

    @classmethod
    def preprocess(cls, edge_program: ModuleOp, compile_specs: Sequence[CompileSpec]) -> PreprocessResult:
        halves = any(spec.key == STORAGE_SPEC and spec.value == b"f16" for spec in compile_specs)
        run_pipeline(edge_program, "canonicalize,dce")
        method = next(op for op in edge_program.body.block.ops if isinstance(op, FuncOp))
        inputs = [_tensor(value, halves) for value in method.body.block.args]
        end = method.body.block.last_op
        assert isinstance(end, ReturnOp)
        outputs = [_tensor(value, halves) for value in end.arguments]
        made = shaders_of(edge_program, halves=halves)
        host = made.loops.host
        constants = _constants(made, len(inputs) + len(outputs)) if halves else host.constants
        program = VulkanProgram(
            version=VERSION,
            inputs=inputs,
            outputs=outputs,
            constants=[VulkanConstant(key, blob.nbytes) for key, blob in constants],
            arena_size=made.arena_size,
            messages=[VulkanMessage(text) for text in host.messages],
        )
        _add_dispatches(program, made)
        mapping = DelegateMappingBuilder(generated_identifiers=True)
        for op in method.body.block.ops:
            if isinstance(op, KernelOp):
                mapping.insert_delegate_mapping_entry(list(op.body.walk()))
        store = NamedDataStore()
        for key, blob in constants:
            store.add_named_data(key, blob, ALIGNMENT)
        blob = serialize_vulkan(program)
        read_vulkan(blob)
        return PreprocessResult(blob, mapping.get_delegate_mapping(), store.get_named_data_store_output())


def _tensor(value: SSAValue, halves: bool) -> VulkanTensor:
    """An input or output."""
    type = tensor_type(value)
    return VulkanTensor(
        scalar_type(type.element_type),
        [int(size) for size in type.get_shape()],
        bytes(dim_order_of(type)),
        halves and type.element_type == f32,
    )


def _constants(shaders: Shaders, first: int) -> list[tuple[str, Blob]]:
    """The constants with floats as halves, of which the largest stands for all that are larger: a mask of attention
    stays finite. `first` is the number of the argument that the first of them is.
    """
    (function,) = (op for op in shaders.module.body.block.ops if isinstance(op, FuncOp))
    made: list[tuple[str, Blob]] = []
    for (key, blob), argument in zip(
        shaders.loops.host.constants, function.body.block.args[first:], strict=False
    ):
        if memref_type(argument).element_type != f16:
            made.append((key, blob))
            continue
        numbers = np.frombuffer(blob.view(), np.float32).clip(-_MOST_HALF, _MOST_HALF).astype(np.float16)
        made.append((f"{key}:f16", Blob.of("", numbers.tobytes())))
    return made


def _add_dispatches(program: VulkanProgram, shaders: Shaders) -> None:
    """The shaders that are dispatched, and the dispatches in order."""
    numbers: dict[str, int] = {}
    reports: set[str] = set()
    for op in shaders.module.body.block.ops:
        if isinstance(op, ShaderOp):
            numbers[op.sym_name.data] = len(program.shaders)
            program.shaders.append(VulkanShader(op.sym_name.data, encode_shader(op)))
            if any(isinstance(one, AtomicMinimumOp) for one in op.walk()):
                reports.add(op.sym_name.data)
    (function,) = (op for op in shaders.module.body.block.ops if isinstance(op, FuncOp))
    block = function.body.block
    for op in block.ops:
        if not isinstance(op, DispatchOp):
            continue
        name = op.shader.data
        buffers = [_buffer(program, block, value) for value in op.buffers]
        if name in reports:
            buffers.append(VulkanBuffer(VulkanMemory.REPORT, nbytes=4))
        program.dispatches.append(
            VulkanDispatch(
                numbers[name],
                buffers,
                list(op.words.get_values()),
                op.invocations.value.data,
                op.steps.value.data,
                _kernel_of(op),
            )
        )


def _buffer(program: VulkanProgram, block: Block, value: SSAValue) -> VulkanBuffer:
    """The memory that a buffer of the function of a partition is in."""
    offset = 0
    size = 0
    while True:
        owner = value.owner
        if isinstance(owner, memref.ViewOp):
            size = size or _nbytes_of(value)
            offset += _number(owner.byte_shift)
            value = owner.source
        elif isinstance(owner, memref.ReinterpretCastOp):
            (start,) = owner.static_offsets.get_values()
            if owner.offsets or start != 0:
                raise ValueError("a buffer of a dispatch starts within another")
            value = owner.source
        else:
            break
    place = block.args.index(value)  # pyright: ignore[reportArgumentType]
    for memory, count in (
        (VulkanMemory.INPUT, len(program.inputs)),
        (VulkanMemory.OUTPUT, len(program.outputs)),
        (VulkanMemory.CONSTANT, len(program.constants)),
        (VulkanMemory.ARENA, 1),
    ):
        if place < count:
            return VulkanBuffer(
                memory, place if memory != VulkanMemory.ARENA else 0, offset, size or _nbytes_of(value)
            )
        place -= count
    raise AssertionError("an argument of the function that no table has")


def _kernel_of(op: DispatchOp) -> int:
    """The number of the kernel that a dispatch is a part of."""
    number = op.attributes.get(KERNEL)
    assert isinstance(number, IntegerAttr)
    return number.value.data


def _nbytes_of(value: SSAValue) -> int:
    type = memref_type(value)
    count = nbytes(type.element_type)
    for size in type.get_shape():
        count *= size
    return count


def _number(value: SSAValue) -> int:
    assert isinstance(value.owner, arith.ConstantOp)
    assert isinstance(value.owner.value, IntegerAttr)
    return value.owner.value.value.data
