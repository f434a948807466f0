"""From a partition to a blob: machine code for each instruction set, and packed constants as named data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue

from et_ir.backends.native.elements import scalar_type
from et_ir.backends.native.object_code import INSTRUCTION_SETS
from et_ir.backends.native.passes.plan_buffers import ALIGNMENT
from et_ir.backends.native.pipeline import compile_partition
from et_ir.delegation.delegate_mapping import DelegateMappingBuilder
from et_ir.delegation.details import BackendDetails, PreprocessResult
from et_ir.delegation.named_data import NamedDataStore
from et_ir.delegation.specs import CompileSpec
from et_ir.dialects.edge.attributes import dim_order_of
from et_ir.dialects.schema.tensors import tensor_type
from et_ir.driver.stages import run_pipeline
from et_schema.native import (
    VERSION,
    NativeConstant,
    NativeMessage,
    NativeObject,
    NativeProgram,
    NativeTensor,
    serialize_native,
)

__all__ = ["INSTRUCTION_SETS_SPEC", "NativeBackend"]

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
        inputs = [_tensor(value) for value in method.body.block.args]
        end = method.body.block.last_op
        assert isinstance(end, ReturnOp)
        outputs = [_tensor(value) for value in end.arguments]
        compiled = compile_partition(edge_program, names)
        store = NamedDataStore()
        for key, blob in compiled.constants:
            store.add_named_data(key, blob, ALIGNMENT)
        program = NativeProgram(
            version=VERSION,
            inputs=inputs,
            outputs=outputs,
            constants=[NativeConstant(key, blob.nbytes) for key, blob in compiled.constants],
            arena_size=compiled.arena_size,
            arena_alignment=ALIGNMENT,
            messages=[NativeMessage(text) for text in compiled.messages],
            objects=[
                NativeObject(name, " ".join(INSTRUCTION_SETS[name].cpu_flags), code)
                for name, code in compiled.objects.items()
            ],
        )
        return PreprocessResult(
            serialize_native(program),
            DelegateMappingBuilder(generated_identifiers=True).get_delegate_mapping(),
            store.get_named_data_store_output(),
        )


def _tensor(value: SSAValue) -> NativeTensor:
    type = tensor_type(value)
    return NativeTensor(scalar_type(type.element_type), list(type.get_shape()), bytes(dim_order_of(type)))
