"""Partitioner of the Core ML backend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from xdsl.dialects.func import FuncOp

from et_backends.coreml.compiler.backend import PRECISION_SPEC, CoreMLBackend
from et_backends.coreml.compiler.support import CoremlSupport
from et_ir.delegation.backends_by_name import Backend
from et_ir.delegation.operator_partitioner import RESTRICTIONS, OperatorPartitioner, restrictions
from et_ir.delegation.options import check_options
from et_ir.delegation.specs import CompileSpec, DelegationSpec
from et_ir.delegation.support import OperatorSupport

__all__ = ["BACKEND", "KEPT", "CoreMLPartitioner"]

KEPT: Final = (
    "hardswish",
    "linear",
    "pixel_shuffle",
    "silu",
    "stack",
    "upsample_bilinear2d.vec",
    "upsample_nearest2d.vec",
)
"""Operators that Core ML has an operation for, or fewer operations than for what they are made of."""

_PRECISIONS: Final = {"f32": "float32", "f16": "float16"}
_UNITS: Final = ("all", "cpu_only", "cpu_and_gpu", "cpu_and_ne")


class CoreMLPartitioner(OperatorPartitioner):
    """Takes all ops that ML programs can compute; restricted to the operators in `only`, except those in `without`."""

    kept_operators = KEPT

    def __init__(
        self,
        *,
        precision: str = "f32",
        units: str = "all",
        only: Sequence[str] = (),
        without: Sequence[str] = (),
        min_ops: int = 1,
    ):
        """`precision` is that of float arithmetic, `f32` or `f16`; `units` are the processors that the device may use:
        `all`, `cpu_only`, `cpu_and_gpu` or `cpu_and_ne`.

        Raises ValueError for others.
        """
        if precision not in _PRECISIONS:
            raise ValueError(f"unknown precision {precision!r}: expected f32 or f16")
        if units not in _UNITS:
            raise ValueError(f"unknown units {units!r}: expected {', '.join(_UNITS)}")
        super().__init__(
            DelegationSpec(
                CoreMLBackend.backend_id,
                (
                    CompileSpec("compute_units", units.encode()),
                    CompileSpec(PRECISION_SPEC, _PRECISIONS[precision].encode()),
                ),
            ),
            only=only,
            without=without,
            min_ops=min_ops,
        )

    def support(self, method: FuncOp) -> OperatorSupport:
        return self.chosen(CoremlSupport(method))


def _partitioner(options: Mapping[str, str]) -> CoreMLPartitioner:
    check_options(options, ("precision", "units", *RESTRICTIONS))
    return CoreMLPartitioner(
        precision=options.get("precision", "f32"),
        units=options.get("units", "all"),
        **restrictions(options),
    )


BACKEND: Final = Backend("coreml", CoreMLBackend, _partitioner)
"""The backend that makes models for Core ML."""
