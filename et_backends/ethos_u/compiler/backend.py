"""From a partition to the blob of an Ethos-U."""

from __future__ import annotations

import json
from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp

from et_backends.ethos_u.compiler.compile_spec import FLAGS_SPEC
from et_backends.ethos_u.compiler.vela import compile_tosa
from et_backends.ethos_u.format import BACKEND, ESTIMATE_SPEC, read_vela, serialize_vela
from et_backends.tosa.compiler.backend import TOSABackend
from et_ir.delegation.details import BackendDetails, PreprocessResult
from et_ir.delegation.specs import CompileSpec

__all__ = ["EthosUBackend"]


class EthosUBackend(BackendDetails):
    """Has partitions compiled by Vela. Its own identifiers are the numbers of the operators of TOSA."""

    backend_id = BACKEND
    distributions = ("ethos-u-vela",)

    @classmethod
    def preprocess(cls, edge_program: ModuleOp, compile_specs: Sequence[CompileSpec]) -> PreprocessResult:
        flags = next((spec.value.decode() for spec in compile_specs if spec.key == FLAGS_SPEC), "")
        tosa = TOSABackend.preprocess(edge_program, compile_specs)
        assert isinstance(tosa.processed_bytes, bytes)
        made = compile_tosa(tosa.processed_bytes, flags.split())
        blob = serialize_vela(made.program)
        read_vela(blob)
        estimate = json.dumps(dict(made.estimate), separators=(",", ":")).encode()
        return PreprocessResult(
            blob,
            tosa.debug_handle_map,
            alignment=16,  # the driver reads commands in place
            compile_specs=(CompileSpec(ESTIMATE_SPEC, estimate),),
        )
