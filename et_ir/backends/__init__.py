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

`docs/tutorials/backend.md` is a step-by-step introduction. Names are those of ExecuTorch's backend API; an
ExportedProgram there is a module here, or a method of it.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

from et_ir.backends.former_paths import FormerPaths

if TYPE_CHECKING:
    from et_ir.delegation.backends_by_name import (
        Backend,
        backend_names,
        details_of,
        find_backend,
        make_partitioner,
        register_backend,
    )
    from et_ir.delegation.capability import CapabilityPartitioner
    from et_ir.delegation.claims import ClaimPattern, GraphClaim, PatternPartitioner
    from et_ir.delegation.delegate_mapping import DelegateMappingBuilder
    from et_ir.delegation.details import BackendDetails, PreprocessResult
    from et_ir.delegation.errors import BackendError, MissingBackend
    from et_ir.delegation.graphs import ANY, CONSTANT, Graph, Match, Value
    from et_ir.delegation.lowering import BackendFailed, lower_partitions
    from et_ir.delegation.named_data import DataEntry, NamedDataConflict, NamedDataStore, NamedDataStoreOutput
    from et_ir.delegation.partitioner import Partitioner, Partitioners
    from et_ir.delegation.partitioning import partition_module
    from et_ir.delegation.regions import PartitionError, form_partitions
    from et_ir.delegation.specs import CompileSpec, DelegationSpec, PartitionResult
    from et_ir.delegation.support import AnyOf, EverythingSupported, OperatorSupport, SupportTable
    from et_ir.delegation.tags import tag, tag_of
    from et_ir.delegation.why_not import DelegationReport
    from et_ir.diagnostics import Diagnostic
    from et_ir.dialects.backend.attributes import DELEGATION_TAG
    from et_ir.driver.delegate import delegate_module
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
    "Diagnostic",
    "EverythingSupported",
    "Graph",
    "GraphClaim",
    "KeptOperators",
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
    "ANY": "delegation.graphs",
    "AnyOf": "delegation.support",
    "Backend": "delegation.backends_by_name",
    "BackendDetails": "delegation.details",
    "BackendError": "delegation.errors",
    "BackendFailed": "delegation.lowering",
    "CONSTANT": "delegation.graphs",
    "CapabilityPartitioner": "delegation.capability",
    "ClaimPattern": "delegation.claims",
    "CompileSpec": "delegation.specs",
    "DELEGATION_TAG": "dialects.backend.attributes",
    "DataEntry": "delegation.named_data",
    "DelegateMappingBuilder": "delegation.delegate_mapping",
    "DelegationReport": "delegation.why_not",
    "DelegationSpec": "delegation.specs",
    "EverythingSupported": "delegation.support",
    "Graph": "delegation.graphs",
    "GraphClaim": "delegation.claims",
    "KeptOperators": "driver.kept",
    "Match": "delegation.graphs",
    "MissingBackend": "delegation.errors",
    "NamedDataConflict": "delegation.named_data",
    "NamedDataStore": "delegation.named_data",
    "NamedDataStoreOutput": "delegation.named_data",
    "OperatorSupport": "delegation.support",
    "PartitionError": "delegation.regions",
    "PartitionResult": "delegation.specs",
    "Partitioner": "delegation.partitioner",
    "Partitioners": "delegation.partitioner",
    "PatternPartitioner": "delegation.claims",
    "PreprocessResult": "delegation.details",
    "Diagnostic": "diagnostics",
    "SupportTable": "delegation.support",
    "Value": "delegation.graphs",
    "backend_names": "delegation.backends_by_name",
    "delegate_module": "driver.delegate",
    "details_of": "delegation.backends_by_name",
    "find_backend": "delegation.backends_by_name",
    "form_partitions": "delegation.regions",
    "lower_partitions": "delegation.lowering",
    "make_partitioner": "delegation.backends_by_name",
    "partition_module": "delegation.partitioning",
    "register_backend": "delegation.backends_by_name",
    "tag": "delegation.tags",
    "tag_of": "delegation.tags",
}


def __getattr__(name: str) -> object:
    """Load what is asked for: a command that delegates nothing does not wait for any of this."""
    module = _MODULES.get(name)
    if module is None:
        from et_schema.executorch_names import missing_name

        raise missing_name(__name__, name, __all__)
    value: object = getattr(import_module(f"et_ir.{module}"), name)
    globals()[name] = value
    return value


sys.meta_path.insert(0, FormerPaths())
