"""A dialect with one operation, and the passes that make it and lower it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import AnyTensorTypeConstr, ModuleOp
from xdsl.ir import Dialect, SSAValue
from xdsl.irdl import IRDLOperation, VarConstraint, irdl_op_definition, operand_def, result_def, traits_def
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.traits import Pure

from et_ir.dialects.edge import ops as edge
from et_ir.dialects.program import DeclareOperatorOp, declare_operators
from et_ir.rewriting import rewrite


@irdl_op_definition
class FmaOp(IRDLOperation):
    """`a * b + c`, element by element."""

    name = "fma.fma"
    T: ClassVar = VarConstraint("T", AnyTensorTypeConstr)
    a = operand_def(T)
    b = operand_def(T)
    c = operand_def(T)
    result = result_def(T)
    traits = traits_def(Pure())
    assembly_format = "$a `,` $b `,` $c attr-dict `:` type($result)"

    def __init__(self, a: SSAValue, b: SSAValue, c: SSAValue):
        super().__init__(operands=[a, b, c], result_types=[a.type])


FMA = Dialect("fma", [FmaOp])

OPERATOR = DeclareOperatorOp(
    "fma::fma(Tensor a, Tensor b, Tensor c) -> Tensor",
    "fma::fma.out(Tensor a, Tensor b, Tensor c, *, Tensor(a!) out) -> Tensor(a!)",
).edge_class()


class FuseFma(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: edge.AddTensorOp, rewriter: PatternRewriter) -> None:
        product = op.self.owner
        if not isinstance(product, edge.MulTensorOp) or op.alpha != 1 or not op.self.has_one_use():
            return
        if {product.self.type, product.other.type, op.other.type} == {op.result.type}:
            rewriter.replace(op, FmaOp(product.self, product.other, op.other))
            rewriter.erase(product)


class LowerFma(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: FmaOp, rewriter: PatternRewriter) -> None:
        rewriter.replace(op, OPERATOR.create(operands=op.operands, result_types=op.result_types))


@dataclass(frozen=True)
class FuseFmaPass(ModulePass):
    """Fuse a product and the sum that uses it."""

    name = "fuse-fma"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, [FuseFma()])


@dataclass(frozen=True)
class LowerFmaPass(ModulePass):
    """Lower `fma.fma` to calls of the operator `fma::fma`."""

    name = "lower-fma"
    is_required = True  # --rewrite-limit does not leave it out

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if rewrite(op, [LowerFma()]):
            declare_operators(op)
