"""Partitioner and settings of the VGF backend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from et_backends.tosa.compiler.backend import OUTPUT_FORMAT_SPEC, SPECIFICATION_SPEC
from et_backends.tosa.compiler.partitioner import TosaCompileSpec, TOSAPartitioner
from et_backends.tosa.compiler.specification import TosaSpecification
from et_backends.vgf.compiler.backend import FLAGS_SPEC, VgfBackend
from et_backends.vgf.compiler.converter import require_converter
from et_ir.delegation.backends_by_name import Backend
from et_ir.delegation.operator_partitioner import RESTRICTIONS, restrictions
from et_ir.delegation.options import check_options
from et_ir.delegation.specs import CompileSpec, DelegationSpec

__all__ = ["BACKEND", "VgfCompileSpec", "VgfPartitioner"]

_DEFAULT: Final = "TOSA-1.0+FP+INT+int4+int16"


class VgfCompileSpec:
    """Settings of the backend, with the names and the defaults of ExecuTorch's class. Raises `ValueError`."""

    def __init__(
        self,
        tosa_spec: TosaSpecification | str | None = None,
        compiler_flags: Sequence[str] | None = None,
    ):
        given = _DEFAULT if tosa_spec is None else tosa_spec
        self.tosa_spec = TosaSpecification.of(given) if isinstance(given, str) else given
        self.compiler_flags = tuple(compiler_flags or ())
        """Arguments of the converter."""
        for flag in self.compiler_flags:
            if " " in flag:
                raise ValueError(f"'{flag}' has a space, which separates arguments in the file")

    def compile_specs(self) -> tuple[CompileSpec, ...]:
        """The settings as the file has them, with the keys of ExecuTorch's backend."""
        flags = (CompileSpec(FLAGS_SPEC, " ".join(self.compiler_flags).encode()),)
        return (
            CompileSpec(SPECIFICATION_SPEC, str(self.tosa_spec).encode()),
            *(flags if self.compiler_flags else ()),
            CompileSpec(OUTPUT_FORMAT_SPEC, b"vgf"),
        )


class VgfPartitioner(TOSAPartitioner):
    """Takes all ops that can be legalized to TOSA; restricted to the operators in `only`, except those in `without`."""

    def __init__(
        self,
        compile_spec: VgfCompileSpec | None = None,
        *,
        only: Sequence[str] = (),
        without: Sequence[str] = (),
        min_ops: int = 1,
    ):
        self.compile_spec = compile_spec or VgfCompileSpec()
        tosa = TosaCompileSpec(self.compile_spec.tosa_spec)
        super().__init__(tosa, only=only, without=without, min_ops=min_ops)
        self.delegation_spec = DelegationSpec(VgfBackend.backend_id, self.compile_spec.compile_specs())


def _partitioner(options: Mapping[str, str]) -> VgfPartitioner:
    check_options(options, ("spec", "flags", *RESTRICTIONS))
    require_converter()
    return VgfPartitioner(
        VgfCompileSpec(options.get("spec"), options.get("flags", "").split()),
        **restrictions(options),
    )


BACKEND: Final = Backend("vgf", VgfBackend, _partitioner)
