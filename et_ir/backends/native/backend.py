"""From a partition to a blob: machine code for each instruction set, and packed constants as named data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue

from et_ir.backends.native.object_code import INSTRUCTION_SETS
from et_ir.backends.native.passes.plan_buffers import ALIGNMENT
from et_ir.backends.native.pipeline import compile_partition
from et_ir.backends.nested import NestedProgramBackend
from et_ir.delegation.delegate_mapping import DelegateMappingBuilder
from et_ir.delegation.details import BackendDetails, PreprocessResult
from et_ir.delegation.named_data import NamedDataStore
from et_ir.delegation.specs import CompileSpec
from et_ir.dialects.edge.attributes import dim_order_of
from et_ir.dialects.native import KernelOp
from et_ir.dialects.schema.tensors import tensor_type
from et_ir.driver.stages import run_pipeline
from et_schema.native import (
    VERSION,
    NativeConstant,
    NativeKernel,
    NativeObject,
    NativeProgram,
    NativeTensor,
    serialize_native,
)
from et_schema.scalar_type import ScalarType

__all__ = ["FALLBACK_SPEC", "INSTRUCTION_SETS_SPEC", "NativeBackend"]

FALLBACK_SPEC: Final = "fallback"
"""The compile spec, `1` if the partition's portable program is to be in the blob too."""

INSTRUCTION_SETS_SPEC: Final = "instruction_sets"
"""The compile spec with the names of instruction sets, `+` between them."""


class NativeBackend(BackendDetails):
    """Compiles partitions to machine code with LLVM."""

    @classmethod
    def preprocess(cls, edge_program: ModuleOp, compile_specs: Sequence[CompileSpec]) -> PreprocessResult:
        settings = {spec.key: spec.value.decode() for spec in compile_specs}
        names = tuple(settings[INSTRUCTION_SETS_SPEC].split("+"))
        run_pipeline(edge_program, "canonicalize,dce")
        method = next(op for op in edge_program.body.block.ops if isinstance(op, FuncOp))
        store = NamedDataStore()
        fallback = b""
        if settings.get(FALLBACK_SPEC) == "1":
            fallback = _portable(edge_program, store)
        inputs = [_tensor(value) for value in method.body.block.args]
        end = method.body.block.last_op
        assert isinstance(end, ReturnOp)
        outputs = [_tensor(value) for value in end.arguments]
        compiled = compile_partition(edge_program, names)
        mapping = DelegateMappingBuilder(generated_identifiers=True)
        for op in method.body.block.ops:
            if isinstance(op, KernelOp):
                mapping.insert_delegate_mapping_entry(list(op.body.block.ops))
        for key, blob in compiled.constants:
            store.add_named_data(key, blob, ALIGNMENT)
        program = NativeProgram(
            version=VERSION,
            inputs=inputs,
            outputs=outputs,
            constants=[NativeConstant(key, blob.nbytes) for key, blob in compiled.constants],
            arena_size=compiled.arena_size,
            arena_alignment=ALIGNMENT,
            objects=[
                NativeObject(
                    name,
                    " ".join(INSTRUCTION_SETS[name].cpu_flags),
                    code,
                    [NativeKernel(symbol, number) for symbol, number in compiled.calls[name]],
                )
                for name, code in compiled.objects.items()
            ],
            fallback=fallback,
        )
        return PreprocessResult(
            serialize_native(program),
            mapping.get_delegate_mapping(),
            store.get_named_data_store_output(),
        )


def _portable(edge_program: ModuleOp, store: NamedDataStore) -> bytes:
    """The partition as a program that runs with kernels; its weights are added to the store."""
    made = NestedProgramBackend.preprocess(edge_program.clone(), [])
    assert made.data_store_output is not None
    assert isinstance(made.processed_bytes, bytes)
    store.merge_named_data_store(made.data_store_output)
    return made.processed_bytes


def _tensor(value: SSAValue) -> NativeTensor:
    type = tensor_type(value)
    return NativeTensor(ScalarType.FLOAT, list(type.get_shape()), bytes(dim_order_of(type)))
