"""Plans in which one register leaves what another reads: no clash, and right with dead memory overwritten."""

from __future__ import annotations

import io

import torch

from et_ir.driver.stages import run_pipeline
from et_ir.emit import write
from et_ir.text import parse_module
from et_ir.verification import verify_module
from et_tools.reading import compiler_context
from et_vm.program import Program
from et_vm.runtime import Runtime

PASSES = 'copies-to-views,update-in-place{target="et-vm"},in-place{target="et-vm"},plan-memory'

RESHAPED = """
executorch.plan @forward {
  %p = executorch.input : tensor<i1>
  %x = executorch.input : tensor<4xf32>
  %y = executorch.input : tensor<2x2xf32>
  %state = executorch.alloc : tensor<4xf32>
  %next = executorch.alloc : tensor<2x2xf32>
  %shown = executorch.view %next : tensor<4xf32>
  %seen = executorch.alloc : tensor<2x2xf32>
  %o = executorch.alloc : tensor<4xf32>
  executorch.kernel_call "dim_order_ops::_clone_dim_order.out"(%x, false, [0]) outs(%state)
  executorch.jump_false %p, ^done, ^body
^body:
  executorch.kernel_call "aten::neg.out"(%y) outs(%next)
  executorch.kernel_call "aten::abs.out"(%next) outs(%seen)
  executorch.kernel_call "dim_order_ops::_clone_dim_order.out"(%shown, false, [0]) outs(%state)
  executorch.jump ^done
^done:
  executorch.kernel_call "aten::neg.out"(%state) outs(%o)
  executorch.return %o
}
"""
"""The carried register is written itself before the branch, and in it by way of a view of another shape."""


def compiled(text: str) -> bytes:
    module = parse_module(compiler_context(), text)
    run_pipeline(module, PASSES)
    verify_module(module)
    assert str(module).count("clone") == 1  # the other is written in place
    stream = io.BytesIO()
    write(module, stream)
    return stream.getvalue()


def test_a_branch_writes_another_register():
    data = compiled(RESHAPED)
    assert Program.load(data).clashes("forward") == []
    method = Runtime().load_program(data, poison=True).load_method("forward")
    x, y = torch.rand(4), torch.rand(2, 2)
    for branch in (True, False, True):
        (found,) = method.execute([torch.tensor(branch), x, y])
        torch.testing.assert_close(torch.as_tensor(found), y.reshape(4) if branch else -x)
