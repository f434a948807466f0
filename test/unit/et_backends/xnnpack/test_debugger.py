"""Delegates in the debugger."""

from pathlib import Path

import numpy as np

from et_vm.devtools.debugger import Debugger
from et_vm.program import Program
from et_vm.values import Tensor

FIXTURES = Path(__file__).parents[3] / "fixtures"


def test_a_delegate_writes_what_nothing_else_does() -> None:
    method = Program.load((FIXTURES / "stock" / "delegated.pte").read_bytes()).load_method("forward")
    meta = method.metadata
    tensors = [meta.input_tensor_meta(slot) for slot in range(meta.num_inputs())]
    numbers = np.random.default_rng(0)
    inputs = [numbers.standard_normal(each.sizes()).astype(each.dtype().torch_name) for each in tensors]
    debugger = Debugger(method, inputs)
    (call,) = [item for item in debugger.instructions if item.opcode.mnemonic == "delegate"]
    assert set(debugger.read(call)) | set(debugger.written(call)) == set(call.args)
    assert set(debugger.plan.inputs) <= set(debugger.read(call))
    assert debugger.written(call)
    debugger.go_to(call.index)
    before = debugger.value(debugger.written(call)[0])
    assert isinstance(before, Tensor)
    old = before.array.copy()
    debugger.step()
    assert not np.array_equal(before.array, old)
    debugger.back()
    np.testing.assert_array_equal(before.array, old)
