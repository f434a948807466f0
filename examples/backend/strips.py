"""A backend: the compiler of a partition to bytes, and their executor on et-vm.

A partition becomes a list of steps, each a function of numbered values, in JSON. Constants are data that the file has
once, under a name that says their content.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue

from et_ir import backends as et
from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.program import GetOp, Globals
from et_vm import Backend
from et_vm.backend import BackendExecuteContext, BackendInitContext

FUNCTIONS: dict[str, Any] = {
    "add.Tensor": np.add,
    "mul.Tensor": np.multiply,
    "relu": lambda x, out: np.maximum(x, 0, out=out),
}


class StripsPartitioner(et.CapabilityPartitioner):
    """Takes the operators there is a function for, of 32-bit floats and sizes that are known."""

    delegation_spec = et.DelegationSpec("StripsBackend")

    def support(self, method: FuncOp) -> et.OperatorSupport:
        return et.SupportTable({name: [f32] for name in FUNCTIONS}, static=True, literals={"alpha": 1})


class StripsBackend(et.BackendDetails):
    @classmethod
    def preprocess(
        cls, edge_program: ModuleOp, compile_specs: Sequence[et.CompileSpec]
    ) -> et.PreprocessResult:
        store, handles = et.NamedDataStore(), et.DelegateMappingBuilder()
        symbols = Globals(edge_program)
        (method,) = (op for op in edge_program.body.block.ops if isinstance(op, FuncOp))
        number: dict[SSAValue, int] = {value: at for at, value in enumerate(method.body.block.args)}
        code: dict[str, Any] = {"inputs": len(number), "constants": [], "steps": []}
        for op in method.body.block.ops:
            if isinstance(op, GetOp):
                data = symbols[op.symbol.string_value()].value
                assert data is not None
                key = "strips:" + hashlib.sha256(data.blob.view()).hexdigest()
                store.add_named_data(key, data.blob, 16)
                code["constants"].append([len(number), key, op.result.type.get_shape()])
                number[op.result] = len(number)
            elif isinstance(op, EdgeOp):
                handles.insert_delegate_mapping_entry(op, len(code["steps"]))
                inputs = [number[value] for value in op.operands]
                code["steps"].append([op.name.removeprefix("edge."), inputs, len(number)])
                number[op.result] = len(number)
            elif isinstance(op, ReturnOp):
                code["outputs"] = [number[value] for value in op.operands]
        return et.PreprocessResult(
            json.dumps(code).encode(),
            handles.get_delegate_mapping(),
            store.get_named_data_store_output(),
        )


BACKEND = et.register_backend(et.Backend("strips", StripsBackend, lambda options: StripsPartitioner()))


class StripsRuntime(Backend):
    backend_id = "StripsBackend"

    def init(self, context: BackendInitContext, processed: memoryview, compile_specs: Sequence[Any]) -> Any:
        code = json.loads(bytes(processed))
        processed.release()
        data = context.named_data
        constants = {
            at: np.frombuffer(data[key], np.float32).reshape(shape) for at, key, shape in code["constants"]
        }
        return code, constants

    def execute(self, context: BackendExecuteContext, handle: Any, args: Sequence[Any]) -> None:
        code, constants = handle
        count = code["inputs"]
        values = dict(enumerate(tensor.array for tensor in args[:count])) | constants
        for at, (name, inputs, result) in enumerate(code["steps"]):
            start = context.platform.ticks()
            values[result] = FUNCTIONS[name](*(values[value] for value in inputs), None)
            context.log(at, name, start, context.platform.ticks())
        for output, value in zip(args[count:], code["outputs"], strict=True):
            np.copyto(output.array, values[value])
