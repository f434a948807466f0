"""A second backend of the name of another."""

from et_backends.nested.compiler import NestedPartitioner
from et_ir.backends import Backend, BackendDetails, PreprocessResult, register_backend


class SecondBackend(BackendDetails):
    @classmethod
    def preprocess(cls, edge_program, compile_specs):
        return PreprocessResult(b"")


BACKEND = register_backend(Backend("broken", SecondBackend, lambda options: NestedPartitioner()))
