"""Lifetime bugs planted into plans of real models: the contract of the level names each, so does the VM by an analysis
of its own, and poison shows each.
"""

from __future__ import annotations

import io
from random import Random

import pytest
import torch
from example_models import build
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from et_ir import to_edge
from et_ir.dialects.executorch import AllocOp, PlanOp
from et_ir.driver.stages import run_pipeline
from et_ir.emit import write
from et_vm.runtime import Runtime

CLASHES = 8


def write_to_bytes(module: ModuleOp) -> bytes:
    stream = io.BytesIO()
    write(module, stream)
    return stream.getvalue()


@pytest.mark.parametrize("name", ["digits", "llama"])
def test_a_register_moved_onto_one_that_lives(name: str) -> None:
    model = build(name)
    module = to_edge(model.program).to_executorch().module
    (plan,) = (op for op in module.body.block.ops if isinstance(op, PlanOp))
    allocs = [op for op in plan.walk() if isinstance(op, AllocOp) and "offset" in op.properties]
    assert not Runtime.get().load_program(write_to_bytes(module)).core.clashes("forward")
    random = Random(0)
    planted = named = 0
    while planted < CLASHES:
        moved, onto = random.sample(allocs, 2)
        before = moved.properties["offset"]
        moved.properties["offset"] = onto.properties["offset"]
        clash = ""
        try:
            run_pipeline(module, "verify-executorch")
        except PassFailedException as error:
            clash = str(error)
        if "executorch_c9" in clash and "executorch_c8" not in clash:
            planted += 1
            program = Runtime.get().load_program(write_to_bytes(module), poison=True)
            named += bool(program.core.clashes("forward"))
            (actual,) = program.load_method("forward").execute(model.inputs)
            assert not torch.allclose(actual, model.expected[0], rtol=1e-4, atol=1e-5), clash
        moved.properties["offset"] = before
    # Written over by what covers more, a view of what was there looks like one of a part of that.
    assert named >= CLASHES - 1
