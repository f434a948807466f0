"""Partitioner of the Vulkan backend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from et_backends.codegen.forms import is_view
from et_backends.codegen.kernels.pointwise_rules import operator_name
from et_backends.codegen.kernels.sorts import SORTS
from et_backends.codegen.support import KEPT, KernelSupport, is_kept
from et_backends.vulkan.compiler.backend import STORAGE_SPEC, SpirvBackend
from et_ir.analysis.quantization import DEQUANTIZE, QUANTIZE
from et_ir.delegation.backends_by_name import Backend
from et_ir.delegation.operator_partitioner import RESTRICTIONS, OperatorPartitioner, restrictions
from et_ir.delegation.options import check_options
from et_ir.delegation.partitioner import KeepFilter
from et_ir.delegation.specs import CompileSpec, DelegationSpec
from et_ir.delegation.support import OperatorSupport
from et_ir.diagnostics import Diagnostic
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import is_tensor

__all__ = ["BACKEND", "VulkanPartitioner"]

_STORAGES: Final = ("f32", "f16")


class VulkanSupport(OperatorSupport):
    """Ops on tensors of static shape for which the code generator has loops."""

    def __init__(self, method: FuncOp, only: frozenset[str], without: frozenset[str]):
        self._kernels = KernelSupport(method, only, without)

    def refusal(self, op: Operation) -> Diagnostic | None:
        found = self._kernels.refusal(op)
        if found is not None or not isinstance(op, SchemaOp):
            return found
        restored = any(isinstance(operand.owner, DEQUANTIZE) for operand in op.operands)
        if restored or isinstance(op, (*QUANTIZE, *DEQUANTIZE)):
            return Diagnostic("there are no shaders of quantized numbers", op.name)
        if operator_name(op) == "grouped.linear":
            return Diagnostic("there are no shaders of groups of rows", op.name)
        if operator_name(op) in SORTS:
            return Diagnostic("there are no shaders of sorts", op.name)
        if _has_tables_of_windows(op):
            return Diagnostic("there are no shaders of windows of several sizes", op.name)
        for value in (*op.operands, *op.results):
            if not is_tensor(value.type):
                return Diagnostic("an argument is known only at run time", str(value.type))
            if not value.type.has_static_shape():
                return Diagnostic("dynamic size", str(value.type))
        return None


def _has_tables_of_windows(op: SchemaOp) -> bool:
    """Whether loops of an invocation are bounded by elements of a table, so that nothing bounds their number."""
    name = operator_name(op)
    return "adaptive" in name or name.endswith("_aa")


class VulkanPartitioner(OperatorPartitioner):
    """Takes all ops that shaders can compute; restricted to the operators in `only`, except those in `without`."""

    kept_operators = KEPT

    def __init__(
        self,
        *,
        storage: str = "f32",
        only: Sequence[str] = (),
        without: Sequence[str] = (),
        min_ops: int = 1,
    ):
        """`storage` is the type that floats are stored in on the device, `f32` or `f16`; they are computed in f32.

        Raises ValueError for another.
        """
        if storage not in _STORAGES:
            raise ValueError(f"unknown storage {storage!r}: expected f32 or f16")
        specs = () if storage == "f32" else (CompileSpec(STORAGE_SPEC, storage.encode()),)
        super().__init__(
            DelegationSpec(SpirvBackend.backend_id, specs), only=only, without=without, min_ops=min_ops
        )

    def support(self, method: FuncOp) -> OperatorSupport:
        return VulkanSupport(method, self.only, self.without)

    def keep_filter(self) -> KeepFilter | None:
        return is_kept

    def only_moves(self, op: Operation) -> bool:
        return isinstance(op, SchemaOp) and is_view(op)


def _partitioner(options: Mapping[str, str]) -> VulkanPartitioner:
    check_options(options, ("storage", *RESTRICTIONS))
    return VulkanPartitioner(
        storage=options.get("storage", "f32"),
        **restrictions(options),
    )


BACKEND: Final = Backend("vulkan", SpirvBackend, _partitioner)
"""The backend of compute shaders."""
