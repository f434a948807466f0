"""A backend that fails: at compile time for what negates, at run time for what it is told to."""

from et_ir.backends import Backend as Compiler
from et_ir.backends import (
    BackendDetails,
    CapabilityPartitioner,
    CompileSpec,
    DelegationSpec,
    EverythingSupported,
    PreprocessResult,
    register_backend,
)
from et_vm import Backend


class BrokenBackend(BackendDetails):
    @classmethod
    def preprocess(cls, edge_program, compile_specs):
        if any(op.name == "edge.neg" for op in edge_program.walk()):
            raise RuntimeError("out of tiles")
        return PreprocessResult(b"blob")


def partitioner(options):
    spec = CompileSpec("fail", options.get("fail", "").encode())
    return CapabilityPartitioner(DelegationSpec("BrokenBackend", (spec,)), EverythingSupported())


BACKEND = register_backend(Compiler("broken", BrokenBackend, partitioner))


class BrokenRuntime(Backend):
    backend_id = "BrokenBackend"

    def init(self, context, processed, compile_specs):
        (spec,) = compile_specs
        if bytes(spec.value) == b"init":
            raise RuntimeError("no device")
        return bytes(spec.value)

    def execute(self, context, handle, args):
        if handle == b"execute":
            raise RuntimeError("device is gone")
        for arg in args[1:]:
            arg.array[...] = 0
