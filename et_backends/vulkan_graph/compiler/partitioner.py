"""Partitioner of the backend that makes graphs for ExecuTorch's Vulkan runtime."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np
from xdsl.dialects.builtin import ModuleOp, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from et_backends.vulkan_graph.compiler.backend import HALVES_SPEC, VulkanGraphBackend
from et_backends.vulkan_graph.compiler.grouped_linear import grouped_linear
from et_backends.vulkan_graph.compiler.operators import RESIZED, RULES
from et_backends.vulkan_graph.compiler.storage import BUFFER
from et_ir.analysis.bounds import SizeBounds
from et_ir.backends.operator_rules import RuleSupport
from et_ir.delegation.backends_by_name import Backend
from et_ir.delegation.operator_partitioner import RESTRICTIONS, OperatorPartitioner, restrictions
from et_ir.delegation.options import check_options
from et_ir.delegation.specs import CompileSpec, DelegationSpec
from et_ir.delegation.support import OperatorSupport
from et_ir.diagnostics import Diagnostic
from et_ir.dialects.program import Globals
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import is_tensor, tensor_type
from et_ir.evaluation.arrays import array_of

__all__ = ["BACKEND", "KEPT", "VulkanGraphPartitioner"]

KEPT: Final = (
    "hardswish",
    "linear",
    "pixel_shuffle",
    "upsample_bilinear2d.vec",
    "upsample_nearest2d.vec",
)
"""Operators that the runtime has, and that would be decomposed."""

_HIGHEST_RANK: Final = 4
_STORAGES: Final = ("f32", "f16")


class VulkanGraphSupport(RuleSupport):
    """Ops that the runtime has operators for, on tensors of four dimensions at most that fit its storage."""

    def __init__(self, method: FuncOp):
        self._bounds = SizeBounds(method.body.block)
        super().__init__(
            RULES,
            "ExecuTorch's Vulkan runtime",
            highest_rank=_HIGHEST_RANK,
            bounds=self._bounds,
            resized=RESIZED,
        )
        module = method.parent_op()
        assert isinstance(module, ModuleOp)
        self._symbols = Globals(module)

    def refusal(self, op: Operation) -> Diagnostic | None:
        refusal = super().refusal(op)
        if refusal is not None or not isinstance(op, SchemaOp):
            return refusal
        placement = RULES[op.name.removeprefix("edge.")].lower
        needed = placement.storages(op) or (BUFFER,)
        # What an operator packs itself is stored as it likes.
        packed = {op.arg(name) for name in placement.packs}
        for value in (*op.operands, *op.results):
            stored = is_tensor(value.type) and value not in packed
            if stored and not any(one.holds(self._sizes(value)) for one in needed):
                return Diagnostic("a tensor that does not fit the storage of the operator", str(value.type))
            if is_tensor(value.type) and tensor_type(value).element_type == i64 and not self._fits(value):
                return Diagnostic("a constant has integers that 32 bits do not hold", str(value.type))
        return None

    def _sizes(self, value: SSAValue) -> list[int]:
        """The largest sizes of a tensor, which are known."""
        return [size for size in self._bounds.sizes(value) if size is not None]

    def _fits(self, value: SSAValue) -> bool:
        """Whether integers are none of more bits than the device has, as far as they are known."""
        symbol = self._symbols.constant_of(value)
        if symbol is None or symbol.value is None or not symbol.value.blob.is_resolved:
            return True
        array = array_of(tensor_type(value), symbol.value.blob)
        return bool(np.all(array == array.astype(np.int32)))


class VulkanGraphPartitioner(OperatorPartitioner):
    """Takes all ops that the runtime computes; restricted to the operators in `only`, except those in `without`."""

    kept_operators = KEPT

    def __init__(
        self,
        *,
        storage: str = "f32",
        only: Sequence[str] = (),
        without: Sequence[str] = (),
        min_ops: int = 1,
    ):
        """`storage` is the type that floats have on the device, `f32` or `f16`, in which they may be computed, too.

        Raises ValueError for another.
        """
        if storage not in _STORAGES:
            raise ValueError(f"unknown storage {storage!r}: expected f32 or f16")
        specs = () if storage == "f32" else (CompileSpec(HALVES_SPEC, b"\1"),)
        super().__init__(
            DelegationSpec(VulkanGraphBackend.backend_id, specs), only=only, without=without, min_ops=min_ops
        )

    def support(self, method: FuncOp) -> OperatorSupport:
        return self.chosen(VulkanGraphSupport(method))

    def patterns(self, method: FuncOp) -> Iterable[Sequence[Operation]]:
        if "linear" in self.without or (self.only and "linear" not in self.only):
            return []
        module = method.parent_op()
        assert isinstance(module, ModuleOp)
        symbols = Globals(module)
        layers = [found for op in method.walk() if (found := grouped_linear(op, symbols)) is not None]
        return [
            (layer.restore, layer.linear) for layer in layers if layer.restore.parent is layer.linear.parent
        ]


def _partitioner(options: Mapping[str, str]) -> VulkanGraphPartitioner:
    check_options(options, ("storage", *RESTRICTIONS))
    return VulkanGraphPartitioner(
        storage=options.get("storage", "f32"),
        **restrictions(options),
    )


BACKEND: Final = Backend("vulkan-graph", VulkanGraphBackend, _partitioner)
"""The backend that makes graphs for ExecuTorch's Vulkan runtime."""
