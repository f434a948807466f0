"""Expansion of products with a bias that is broadcast along rows."""

from __future__ import annotations

from typing import Any

from xdsl.ir import Block, SSAValue

from et_backends.codegen.forms import form_of
from et_backends.codegen.kernels.epilogue import fits_tiles
from et_backends.codegen.kernels.pointwise_rules import operator_name
from et_ir.dialects.edge import OP_BY_NAME
from et_ir.dialects.schema import SchemaOp

__all__ = ["expand_products"]


def expand_products(block: Block) -> None:
    """Replace `addmm` by a product of matrices and pointwise ops where its bias is broadcast along rows."""
    for op in list(block.ops):
        if isinstance(op, SchemaOp) and operator_name(op) == "addmm" and form_of(op) is not None:
            bias, left, right = op.operands
            if not fits_tiles(bias, op.results[0], 1):
                _expand(block, op, bias, left, right)


def _expand(block: Block, op: SchemaOp, bias: SSAValue, left: SSAValue, right: SSAValue) -> None:
    """alpha · (left · right) + beta · bias, which is not read where beta is 0."""

    def make(name: str, *args: Any) -> SSAValue:
        made = OP_BY_NAME[name].make(*args, location=op.location)
        block.insert_op_before(made, op)
        return made.results[0]

    alpha, beta = float(op.arg("alpha")), float(op.arg("beta"))
    result = make("mm", left, right)
    if alpha != 1:
        result = make("mul.Scalar", result, alpha)
    if beta != 0:
        result = make("add.Tensor", result, bias if beta == 1 else make("mul.Scalar", bias, beta))
    result.name_hint = op.results[0].name_hint
    op.results[0].replace_all_uses_with(result)
    block.erase_op(op)
