"""Delegation: parts of a program that backends compile.

    class DemoPartitioner(CapabilityPartitioner):
        delegation_spec = DelegationSpec("DemoBackend")

        def support(self, method):
            return SupportTable({"add.Tensor": [f32], "relu": [f32]})

    class DemoBackend(BackendDetails):
        @classmethod
        def preprocess(cls, edge_program, compile_specs):
            return PreprocessResult(...)

    register_backend(Backend("demo", DemoBackend, lambda options: DemoPartitioner()))

`docs/tutorials/backend.md` takes one through all of it. Names are those that ExecuTorch's backend authors know; what
there is an ExportedProgram is a module here, or a method of it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from et_ir.delegation.capability import CapabilityPartitioner
    from et_ir.delegation.claims import ClaimPattern, GraphClaim, PatternPartitioner
    from et_ir.delegation.delegate_mapping import DelegateMappingBuilder
    from et_ir.delegation.details import BackendDetails, PreprocessResult
    from et_ir.delegation.errors import BackendError, MissingBackend
    from et_ir.delegation.graphs import ANY, CONSTANT, Graph, Match, Value
    from et_ir.delegation.lowering import BackendFailed, lower_partitions
    from et_ir.delegation.named_data import DataEntry, NamedDataConflict, NamedDataStore, NamedDataStoreOutput
    from et_ir.delegation.partitioner import Partitioner
    from et_ir.delegation.partitioning import Partitioners, delegate_module, partition_module
    from et_ir.delegation.refusals import Refusal
    from et_ir.delegation.regions import PartitionError, form_partitions
    from et_ir.delegation.registry import (
        Backend,
        backend_names,
        details_of,
        find_backend,
        make_partitioner,
        register_backend,
    )
    from et_ir.delegation.specs import CompileSpec, DelegationSpec, PartitionResult
    from et_ir.delegation.support import AnyOf, EverythingSupported, OperatorSupport, SupportTable
    from et_ir.delegation.tags import DELEGATION_TAG, tag, tag_of
    from et_ir.delegation.why_not import DelegationReport, LeftOut
    from et_ir.driver.kept import KeptOperators

__all__ = [
    "ANY",
    "CONSTANT",
    "DELEGATION_TAG",
    "AnyOf",
    "Backend",
    "BackendDetails",
    "BackendError",
    "BackendFailed",
    "CapabilityPartitioner",
    "ClaimPattern",
    "CompileSpec",
    "DataEntry",
    "DelegateMappingBuilder",
    "DelegationReport",
    "DelegationSpec",
    "EverythingSupported",
    "Graph",
    "GraphClaim",
    "KeptOperators",
    "LeftOut",
    "Match",
    "MissingBackend",
    "NamedDataConflict",
    "NamedDataStore",
    "NamedDataStoreOutput",
    "OperatorSupport",
    "PartitionError",
    "PartitionResult",
    "Partitioner",
    "Partitioners",
    "PatternPartitioner",
    "PreprocessResult",
    "Refusal",
    "SupportTable",
    "Value",
    "backend_names",
    "delegate_module",
    "details_of",
    "find_backend",
    "form_partitions",
    "lower_partitions",
    "make_partitioner",
    "partition_module",
    "register_backend",
    "tag",
    "tag_of",
]

_MODULES = {
    "ANY": "graphs",
    "AnyOf": "support",
    "Backend": "registry",
    "BackendDetails": "details",
    "BackendError": "errors",
    "BackendFailed": "lowering",
    "CONSTANT": "graphs",
    "CapabilityPartitioner": "capability",
    "ClaimPattern": "claims",
    "CompileSpec": "specs",
    "DELEGATION_TAG": "tags",
    "DataEntry": "named_data",
    "DelegateMappingBuilder": "delegate_mapping",
    "DelegationReport": "why_not",
    "DelegationSpec": "specs",
    "EverythingSupported": "support",
    "Graph": "graphs",
    "GraphClaim": "claims",
    "KeptOperators": "kept",
    "LeftOut": "why_not",
    "Match": "graphs",
    "MissingBackend": "errors",
    "NamedDataConflict": "named_data",
    "NamedDataStore": "named_data",
    "NamedDataStoreOutput": "named_data",
    "OperatorSupport": "support",
    "PartitionError": "regions",
    "PartitionResult": "specs",
    "Partitioner": "partitioner",
    "Partitioners": "delegate",
    "PatternPartitioner": "claims",
    "PreprocessResult": "details",
    "Refusal": "refusals",
    "SupportTable": "support",
    "Value": "graphs",
    "backend_names": "registry",
    "delegate_module": "delegate",
    "details_of": "registry",
    "find_backend": "registry",
    "form_partitions": "regions",
    "lower_partitions": "lowering",
    "make_partitioner": "registry",
    "partition_module": "delegate",
    "register_backend": "registry",
    "tag": "tags",
    "tag_of": "tags",
}


def __getattr__(name: str) -> object:
    """Load what is asked for: a command that delegates nothing does not wait for any of this."""
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value
