"""Partitioner of the OpenVINO backend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from xdsl.dialects.builtin import ModuleOp, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from et_backends.openvino.compiler.blob import (
    DEVICE_SPEC,
    PRECISION_SPEC,
    OpenvinoBackend,
    require_openvino,
)
from et_backends.openvino.compiler.rules import RULES
from et_ir.analysis.integer_operations import is_quantized_constant
from et_ir.analysis.quantization import DEQUANTIZE, QUANTIZE
from et_ir.backends.operator_rules import RuleSupport
from et_ir.delegation.backends_by_name import Backend
from et_ir.delegation.operator_partitioner import RESTRICTIONS, OperatorPartitioner, restrictions
from et_ir.delegation.options import check_options
from et_ir.delegation.specs import CompileSpec, DelegationSpec
from et_ir.delegation.support import OperatorSupport
from et_ir.diagnostics import Diagnostic
from et_ir.dialects.program import GetOp, Globals
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import tensor_type
from et_ir.evaluation.arrays import array_of

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
_LAYERS: Final = ("edge.convolution", "edge.linear", "edge.mm", "edge.addmm", "edge.bmm", "edge.baddbmm")
_EXACT: Final = (0.0, None)
"""Limits that integers have whatever their scale."""
_LARGEST: Final = 2.0**30
"""Steps of a result that leave room for what is added to a bias in 32 bits."""
_EXTREMES: Final = ("edge.maximum", "edge.minimum")


class OpenvinoSupport(RuleSupport):
    """Ops that there is a rule for, with 64-bit integers to convert on CPUs only.

    In quantized programs, some are left that OpenVINO 2026.4 computes wrong: concatenations between convolutions in 8
    bits, convolutions with a bias beyond 32 bits, and what takes a number of the program to the integers of its
    operand, where no layer is between it and the quantization. There bounds are cut off to whole steps, and padding is
    0 whatever its value and the zero point.
    """

    def __init__(self, method: FuncOp, device: str):
        super().__init__(RULES, "OpenVINO")
        self._converts = device == "CPU"
        self._quantized = any(isinstance(op, QUANTIZE) for op in method.walk())
        self._following = _following_integers(method)
        module = method.parent_op()
        self._symbols = Globals(module) if isinstance(module, ModuleOp) else None

    def refusal(self, op: Operation) -> Diagnostic | None:
        if self._quantized and op.name in _JOINS:
            return Diagnostic("a concatenation in a quantized program, which OpenVINO may compute wrong")
        if isinstance(op, SchemaOp) and not self._following.isdisjoint(op.operands):
            number = _number_among_integers(op)
            if number is not None:
                return Diagnostic(f"{number} of restored integers, which OpenVINO may compute wrong")
        if op.name == "edge.convolution" and self._has_bias_beyond_results(op):
            return Diagnostic(
                "a bias beyond 32 bits in steps of the result, which OpenVINO may compute wrong"
            )
        converts = op.name == "edge.dim_order_ops._to_dim_order_copy"
        if converts and not self._converts and tensor_type(op.operands[0]).element_type == i64:
            return Diagnostic("64-bit integers, of which the device may compute 32 bits")
        return super().refusal(op)

    def _has_bias_beyond_results(self, op: Operation) -> bool:
        """Whether a constant bias has numbers that 32 bits do not hold in steps of the quantized result. Kernels of
        processors with AMX convert results before they bound them.
        """
        assert isinstance(op, SchemaOp)
        bias: SSAValue | None = op.arg("bias")
        steps = _result_steps(op)
        if not steps or bias is None or self._symbols is None:
            return False
        symbol = self._symbols.constant_of(bias)
        if symbol is None or symbol.value is None:
            return False
        largest = float(np.abs(array_of(tensor_type(bias), symbol.value.blob)).max(initial=0.0))
        return largest / min(steps) >= _LARGEST


def _result_steps(op: SchemaOp) -> list[float]:
    """The scales that the results of an op are quantized with, after pointwise operators too."""
    found: list[float] = []
    pending, seen = [*op.results], set[SSAValue]()
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        for use in value.uses:
            user = use.operation
            step = _step(user, QUANTIZE)
            if step is not None:
                found.append(step)
            elif isinstance(user, SchemaOp) and user.operator.is_pointwise:
                pending += user.results
    return found


def _following_integers(method: FuncOp) -> set[SSAValue]:
    """The values that are made of restored activations, and of no product of theirs."""
    found: set[SSAValue] = set()
    for op in method.walk():
        if isinstance(op, DEQUANTIZE):
            found.update(value for value in op.results if not is_quantized_constant(value))
        elif op.name not in _LAYERS and not isinstance(op, QUANTIZE) and not found.isdisjoint(op.operands):
            found.update(op.results)
    return found


def _number_among_integers(op: SchemaOp) -> str | None:
    """What an op has of numbers that are not its operand's, and that integers would have to stand for."""
    if op.operator.facts.limits not in (None, _EXACT):
        return None if _has_coarser_result(op) else "bounds"
    if op.name in _EXTREMES and any(map(_is_constant, op.operands)):
        return "bounds"
    pools_padding = op.name == "edge.avg_pool2d" and any(op.arg("padding")) and op.arg("count_include_pad")
    return "padding" if pools_padding or op.name == "edge.constant_pad_nd" else None


def _has_coarser_result(op: SchemaOp) -> bool:
    """Whether a result is quantized in steps no smaller than those of the operand: a bound that is cut off loses less
    than one of them.
    """
    step = _step(op.operands[0].owner, DEQUANTIZE)
    results = [_step(use.operation, QUANTIZE) for use in op.results[0].uses]
    return step is not None and all(one is not None and one >= step for one in results)


def _step(op: Operation | Block, kinds: tuple[type[SchemaOp], ...]) -> float | None:
    """The scale of an op that quantizes or restores with one that is a literal."""
    if not isinstance(op, kinds) or "scale" not in op.schema().by_name:
        return None
    scale = op.arg("scale")
    return scale if isinstance(scale, float) else None


def _is_constant(value: SSAValue) -> bool:
    return isinstance(value.owner, GetOp)


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
