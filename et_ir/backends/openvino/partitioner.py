"""Partitioner of the OpenVINO backend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from xdsl.dialects.builtin import i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from et_ir.analysis.quantization import QUANTIZE
from et_ir.backends.openvino.blob import (
    DEVICE_SPEC,
    PRECISION_SPEC,
    OpenvinoBackend,
    require_openvino,
)
from et_ir.backends.openvino.rules import RULES
from et_ir.backends.operator_rules import RuleSupport
from et_ir.delegation.backends_by_name import Backend
from et_ir.delegation.operator_partitioner import RESTRICTIONS, OperatorPartitioner, restrictions
from et_ir.delegation.options import check_options
from et_ir.delegation.specs import CompileSpec, DelegationSpec
from et_ir.delegation.support import OperatorSupport
from et_ir.diagnostics import Diagnostic
from et_ir.dialects.schema.tensors import tensor_type

__all__ = ["BACKEND", "KEPT", "OpenvinoPartitioner"]

KEPT: Final = (
    "hardswish",
    "linear",
    "pixel_shuffle",
    "silu",
    "stack",
    "upsample_bilinear2d.vec",
    "upsample_nearest2d.vec",
)
"""Operators that OpenVINO has a node for, or fewer nodes than for what they are made of."""

PRECISIONS: Final = ("f32", "fast")


_JOINS: Final = ("edge.cat", "edge.stack")


class OpenvinoSupport(RuleSupport):
    """Ops that there is a rule for, with 64-bit integers to convert on CPUs only.

    Concatenations in quantized programs are left: OpenVINO 2026.4 computes them wrong between convolutions in 8 bits.
    """

    def __init__(self, method: FuncOp, device: str):
        super().__init__(RULES, "OpenVINO")
        self._converts = device == "CPU"
        self._quantized = any(isinstance(op, QUANTIZE) for op in method.walk())

    def refusal(self, op: Operation) -> Diagnostic | None:
        if self._quantized and op.name in _JOINS:
            return Diagnostic("a concatenation in a quantized program, which OpenVINO may compute wrong")
        converts = op.name == "edge.dim_order_ops._to_dim_order_copy"
        if converts and not self._converts and tensor_type(op.operands[0]).element_type == i64:
            return Diagnostic("64-bit integers, of which the device may compute 32 bits")
        return super().refusal(op)


class OpenvinoPartitioner(OperatorPartitioner):
    """Takes all that OpenVINO has nodes for. With `only`, no other operators; without those of `without`."""

    kept_operators = KEPT

    def __init__(
        self,
        *,
        device: str = "CPU",
        precision: str = "f32",
        only: Sequence[str] = (),
        without: Sequence[str] = (),
        min_ops: int = 1,
    ):
        """`device` is one of OpenVINO's, which has to be there when a program is compiled and when it is run.
        `precision` is `f32`, or `fast` for what the device likes best, bfloat16 on some CPUs.

        Raises ValueError for another precision, ModuleNotFoundError without the package `openvino`.
        """
        require_openvino()
        if precision not in PRECISIONS:
            raise ValueError(f"unknown precision {precision!r}: expected f32 or fast")
        super().__init__(
            DelegationSpec(
                OpenvinoBackend.backend_id,
                (
                    CompileSpec(DEVICE_SPEC, device.encode()),
                    CompileSpec(PRECISION_SPEC, precision.encode()),
                ),
            ),
            only=only,
            without=without,
            min_ops=min_ops,
        )
        self._device = device

    def support(self, method: FuncOp) -> OperatorSupport:
        return self.chosen(OpenvinoSupport(method, self._device))


def _partitioner(options: Mapping[str, str]) -> OpenvinoPartitioner:
    check_options(options, ("device", "precision", *RESTRICTIONS))
    return OpenvinoPartitioner(
        device=options.get("device", "CPU"),
        precision=options.get("precision", "f32"),
        **restrictions(options),
    )


BACKEND: Final = Backend("openvino", OpenvinoBackend, _partitioner)
"""The backend that runs models by OpenVINO."""
