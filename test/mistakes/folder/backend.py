"""A backend whose runtime part has another id."""

import json

from xdsl.dialects.builtin import f32

from et_ir import backends as et
from et_vm import Backend


class MinePartitioner(et.CapabilityPartitioner):
    delegation_spec = et.DelegationSpec("Mine")

    def support(self, method):
        return et.SupportTable({"add.Tensor": [f32], "relu": [f32]}, static=True, literals={"alpha": 1})


class MineBackend(et.BackendDetails):
    @classmethod
    def preprocess(cls, edge_program, compile_specs):
        return et.PreprocessResult(json.dumps({}).encode())


BACKEND = et.register_backend(et.Backend("mine", MineBackend, lambda options: MinePartitioner()))


class MineRuntime(Backend):
    backend_id = "MineBackend"

    def init(self, context, processed, compile_specs):
        return None

    def execute(self, context, handle, args):
        pass
