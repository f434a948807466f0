"""Caches in buffers: what is written is the new entry and nothing else. Their results: test_programs.py."""

from __future__ import annotations

import pytest
import torch
from cache_forms import FORMS, Cache, Form, steps
from whole_copies import whole_copies

from et_backends.native.compiler import NativePartitioner
from et_ir import ExecutorchBackendConfig, to_edge, to_edge_transform_and_lower
from et_ir.targets.lookup import DEFAULT
from et_vm.runtime import Runtime


def exported(form: Form) -> torch.export.ExportedProgram:
    return torch.export.export(Cache(form.write, form.shape).eval(), steps()[0])


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_no_instruction_copies_the_cache(form: Form) -> None:
    edge = to_edge(exported(form))
    for target in (DEFAULT, "et-vm"):
        made = edge.to_executorch(ExecutorchBackendConfig(target=target))
        copies = whole_copies(made.module)
        if form.stock_in_place or target == "et-vm":
            assert copies == []
        else:
            assert "aten::index_put.out" in copies
        assert Runtime.get().load_program(made.buffer).core.clashes("forward") == []
    native = to_edge_transform_and_lower(exported(form), partitioner=NativePartitioner())
    made = native.to_executorch(ExecutorchBackendConfig(target="et-vm"))
    assert whole_copies(made.module) == []
    # The route of machine code has a wider tolerance, for programs of other families.
    method = Runtime().load_program(made.buffer, allow_native=True, poison=True).load_method("forward")
    net = Cache(form.write, form.shape).eval()
    with torch.no_grad():
        torch.testing.assert_close(
            [method.execute(step)[0] for step in steps()], [net(*step) for step in steps()]
        )
