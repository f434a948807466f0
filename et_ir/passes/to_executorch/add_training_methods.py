"""Add the constant methods by which runtimes find gradients and parameters.

```mlir
func.func @forward(%x: tensor<2x4xf32>) -> (tensor<f32>, tensor<4xf32>, tensor<4xf32>)
    attributes {program.roles = #program.roles<loss, gradient "w", parameter "w">} {…}                        // before

func.func @__et_training_gradients_index_forward() -> i64 {                                                   // added
  %0 = program.literal 1
  func.return %0 : i64
}
func.func @__et_training_parameters_index_forward() -> i64 {…}                                                // 2
func.func @__et_training_fqn_forward() -> !program.string {…}                                                 // "w"
```

These are the methods of ExecuTorch's `TrainingModule`. Those that the module has already, as a program that was read
from a file does, are replaced.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from et_ir.dialects.program.roles import ROLES, RolesAttr
from et_ir.passes.common.literal_method import literal_method
from et_schema.training import GRADIENTS, NAMES, PARAMETERS

__all__ = ["AddTrainingMethodsPass"]


@dataclass(frozen=True)
class AddTrainingMethodsPass(ModulePass):
    """Add methods that number gradients and parameters."""

    name = "add-training-methods"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        methods = {one.sym_name.data: one for one in op.body.block.ops if isinstance(one, FuncOp)}
        for name, method in methods.items():
            roles = method.attributes.get(ROLES)
            if not isinstance(roles, RolesAttr):
                continue
            for prefix, values in (
                (GRADIENTS, [roles.first("gradient")]),
                (PARAMETERS, [roles.first("parameter")]),
                (NAMES, roles.names("parameter")),
            ):
                known = methods.get(prefix + name)
                if known is not None:
                    Rewriter.erase_op(known)
                op.body.block.add_op(literal_method(prefix + name, *values, is_list=prefix == NAMES))
