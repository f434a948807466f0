"""Programs of all families of operators, compiled to machine code where there is a rule, against eager."""

from __future__ import annotations

import pytest
import torch
from torch.utils import _pytree as pytree
from xnnpack_programs import PROGRAMS

from et_ir import ExecutorchBackendConfig, to_edge_transform_and_lower
from et_ir.backends.native import NativePartitioner
from et_ir.backends.native.object_code import INSTRUCTION_SETS
from et_vm.backends.native.cpu import cpu_features
from et_vm.runtime import Runtime

SETS = [name for name, one in INSTRUCTION_SETS.items() if cpu_features().issuperset(one.cpu_flags)]


@pytest.mark.parametrize("instruction_set", SETS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_right_on_our_vm(name: str, instruction_set: str) -> None:
    program, inputs = PROGRAMS[name]()
    program = program.eval()
    exported = torch.export.export(program, tuple(inputs))
    partitioner = NativePartitioner(instruction_sets=[instruction_set])
    manager = to_edge_transform_and_lower(exported, partitioner=partitioner)
    file = manager.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
    with torch.no_grad():
        expected = pytree.tree_leaves(program(*inputs))
    for threads in (1, 2):
        loaded = Runtime(threads=threads).load_program(file, allow_native=True, poison=True)
        found = list(loaded.load_method("forward").execute(inputs))
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5, equal_nan=True)
