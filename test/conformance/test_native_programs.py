"""Programs of all families of operators, compiled to machine code where there is a rule, against eager."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from cache_forms import FORMS, Cache, Form
from control_flow_programs import PROGRAMS as FLOWS
from test_caches import expected as expected_of_cache
from test_caches import steps
from test_control_flow import expected
from test_control_flow import exported as exported_flow
from test_dynamic_shapes import CASES as SIZED
from test_dynamic_shapes import exported as exported_case
from test_dynamic_shapes import inputs_of
from torch.utils import _pytree as pytree
from whole_copies import whole_copies
from xnnpack_programs import PROGRAMS

from et_ir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge_transform_and_lower
from et_ir.backends.native import NativePartitioner
from et_ir.codegen.object_code import INSTRUCTION_SETS
from et_vm.backends.native.cpu import cpu_features
from et_vm.runtime import Runtime

SETS = [name for name, one in INSTRUCTION_SETS.items() if cpu_features().issuperset(one.cpu_flags)]


@pytest.mark.sweep
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


def compiled(exported: torch.export.ExportedProgram, instruction_set: str, **bounds: int) -> bytes:
    """A file for our runtime."""
    manager = to_edge_transform_and_lower(
        exported,
        partitioner=NativePartitioner(instruction_sets=[instruction_set]),
        compile_config=EdgeCompileConfig(default_bounds=bounds),
    )
    return manager.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer


def assert_close(found: Sequence[Any], wanted: Sequence[torch.Tensor], what: object) -> None:
    for got, one in zip(found, wanted, strict=True):
        value = torch.as_tensor(got)
        assert value.shape == one.shape, what
        torch.testing.assert_close(
            value.to(one.dtype),
            one,
            rtol=1e-4,
            atol=1e-5,
            equal_nan=True,
            msg=lambda text: f"{what}: {text}",
        )


@pytest.mark.sweep
@pytest.mark.parametrize("instruction_set", SETS)
@pytest.mark.parametrize("name", SIZED)
def test_sizes_known_at_run_time(name: str, instruction_set: str) -> None:
    case = SIZED[name]
    module, program = exported_case(case)
    file = compiled(program, instruction_set, **case.bounds)
    for threads in (1, 2):
        loaded = Runtime(threads=threads).load_program(file, allow_native=True, poison=True)
        method = loaded.load_method("forward")
        for shapes in (*case.fits, *reversed(case.fits)):
            inputs = inputs_of(shapes)
            with torch.no_grad():
                wanted = [torch.as_tensor(leaf) for leaf in pytree.tree_leaves(module(*inputs))]
            assert_close(method.execute(inputs), wanted, shapes)


@pytest.mark.sweep
@pytest.mark.parametrize("instruction_set", SETS)
@pytest.mark.parametrize("name", FLOWS)
def test_control_flow(name: str, instruction_set: str) -> None:
    program = FLOWS[name]
    module, exported = exported_flow(program)
    loaded = Runtime(threads=2).load_program(
        compiled(exported, instruction_set), allow_native=True, poison=True
    )
    method = loaded.load_method("forward")
    eager = copy.deepcopy(module)
    for inputs in (*program.inputs, *program.inputs, *reversed(program.inputs)):
        assert_close(method.execute(list(inputs)), expected(eager, inputs), name)


@pytest.mark.sweep
@pytest.mark.parametrize("instruction_set", SETS)
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_caches(form: Form, instruction_set: str) -> None:
    """What a step writes is there in the next one, and nothing copies the cache."""
    exported = torch.export.export(Cache(form.write, form.shape).eval(), steps()[0])
    manager = to_edge_transform_and_lower(
        exported, partitioner=NativePartitioner(instruction_sets=[instruction_set])
    ).to_executorch(ExecutorchBackendConfig(target="et-vm"))
    assert whole_copies(manager.module) == []
    loaded = Runtime().load_program(manager.buffer, allow_native=True, poison=True)
    method = loaded.load_method("forward")
    torch.testing.assert_close([method.execute(step)[0] for step in steps()], expected_of_cache(form))
