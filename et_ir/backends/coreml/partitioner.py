"""Partitioner of the Core ML backend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from et_ir.backends.coreml.backend import PRECISION_SPEC, CoreMLBackend
from et_ir.backends.coreml.support import CoremlSupport
from et_ir.delegation.backends_by_name import Backend
from et_ir.delegation.capability import CapabilityPartitioner
from et_ir.delegation.options import check_options, number_option, operators, operators_option
from et_ir.delegation.partitioner import KeepFilter
from et_ir.delegation.specs import CompileSpec, DelegationSpec
from et_ir.delegation.support import ChosenByUser, OperatorSupport

if TYPE_CHECKING:
    from torch._ops import OpOverload

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


class CoreMLPartitioner(CapabilityPartitioner):
    """Takes all ops that ML programs can compute; restricted to the operators in `only`, except those in `without`."""

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
            )
        )
        self.min_ops = min_ops
        self._only = operators(only)
        self._without = operators(without)

    def support(self, method: FuncOp) -> OperatorSupport:
        return ChosenByUser(CoremlSupport(method), self._only, self._without)

    def ops_to_not_decompose(
        self,
    ) -> tuple[Sequence[str | type[Operation] | OpOverload], KeepFilter | None]:
        return [name for name in KEPT if name not in self._without], None


def _partitioner(options: Mapping[str, str]) -> CoreMLPartitioner:
    check_options(options, ("precision", "units", "only", "without", "min"))
    return CoreMLPartitioner(
        precision=options.get("precision", "f32"),
        units=options.get("units", "all"),
        only=operators_option(options, "only"),
        without=operators_option(options, "without"),
        min_ops=number_option(options, "min", 1),
    )


BACKEND: Final = Backend("coreml", CoreMLBackend, _partitioner)
"""The backend that makes models for Core ML."""
