"""Passes of the user's own, on one method of several, and before partitioners look."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch
from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from et_backends.nested.compiler import NestedPartitioner
from et_ir import EdgeCompileConfig, to_edge, to_edge_transform_and_lower
from et_ir.data import Blob
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.program import DataAttr, Globals
from et_ir.driver.managers import ExecutorchBackendConfig
from et_vm.runtime import Runtime
from examples.passes.double_to_add import DoubleToAddPass

ET_VM = ExecutorchBackendConfig(target="et-vm")


class Doubles(torch.nn.Module):
    """Has a weight, and state, that several methods share."""

    def __init__(self, shared):
        super().__init__()
        self.shared = shared

    def forward(self, x):
        self.shared.calls.add_(1)
        return self.shared.weight * (x * 2) + self.shared.calls


@pytest.fixture
def programs():
    shared = torch.nn.Module()
    shared.register_parameter("weight", torch.nn.Parameter(torch.tensor([1.0, 2.0, 3.0])))
    shared.register_buffer("calls", torch.zeros(1))
    x = (torch.ones(3),)
    return {name: torch.export.export(Doubles(shared), x) for name in ("one", "two")}


def ops(manager, name):
    (method,) = (op for op in manager.module.walk() if isinstance(op, FuncOp) and op.sym_name.data == name)
    return [op.name for op in method.walk()]


def results(manager):
    """The result of each method for ones, when it is the first to be called."""
    file = manager.to_executorch(ET_VM).buffer
    methods = [Runtime.get().load_program(file).load_method(name) for name in sorted(manager.methods)]
    return [method.execute([torch.ones(3)])[0].tolist() for method in methods]


@dataclass(frozen=True)
class Scale(ModulePass):
    """Doubles what a symbol starts as, beside a new constant that nothing reads."""

    name = "scale"
    symbol: str
    copies: int = 1

    def apply(self, ctx, op):
        symbols = Globals(op)
        found = symbols[self.symbol]
        value = found.value.blob.view() if found.value else bytes(4)
        data = torch.frombuffer(bytearray(value), dtype=torch.float32) * 2
        found.properties["value"] = DataAttr.of(
            found.type.element_type, Blob.of(self.symbol, data.numpy().tobytes())
        )
        symbols.add_constant(self.symbol, found.type, Blob.of("unused", bytes(data.nbytes)))


@dataclass(frozen=True)
class Rename(ModulePass):
    name = "rename"

    def apply(self, ctx, op):
        next(one for one in op.walk() if isinstance(one, FuncOp)).properties["sym_name"] = StringAttr("x")


def test_one_method_is_changed(programs):
    both = to_edge_transform_and_lower(programs, [DoubleToAddPass()])
    managers = (
        to_edge_transform_and_lower(programs, {"two": [DoubleToAddPass()]}),
        to_edge(programs).transform({"two": [DoubleToAddPass()]}),
        to_edge(programs, compile_config=EdgeCompileConfig(transform_passes={"two": [DoubleToAddPass()]})),
    )
    plain = to_edge(programs)
    assert ops(both, "one") != ops(plain, "one")
    for manager in managers:
        assert ops(manager, "one") == ops(plain, "one")
        assert ops(manager, "two") == ops(both, "two") != ops(plain, "two")
        assert results(manager) == results(plain) == [[3.0, 5.0, 7.0], [3.0, 5.0, 7.0]]


def test_constants_that_one_method_changes_are_its_own(programs):
    plain = to_edge(programs)
    changed = plain.transform({"one": [Scale("shared.weight")]})
    assert results(changed) == [[5.0, 9.0, 13.0], [3.0, 5.0, 7.0]]
    # Again, the first copy is in the way of the name.
    changed = changed.transform({"two": [Scale("shared.weight")], "one": [DoubleToAddPass()]})
    assert results(changed) == [[5.0, 9.0, 13.0], [5.0, 9.0, 13.0]]
    assert results(plain) == [[3.0, 5.0, 7.0], [3.0, 5.0, 7.0]]


def test_what_would_change_other_methods(programs):
    plain = to_edge(programs)
    text = str(plain.module)
    with pytest.raises(PassFailedException, match=r"of 'one': @shared.calls is shared with other methods"):
        plain.transform({"one": [Scale("shared.calls")]})
    with pytest.raises(
        PassFailedException, match=r"of 'two': the passes must keep exactly this method; methods are: x"
    ):
        plain.transform({"two": [Rename()]})
    with pytest.raises(PassFailedException, match=r"no method named 'three'; methods are: one, two"):
        plain.transform({"three": []})
    assert str(plain.module) == text


@dataclass(frozen=True)
class MulToSub(ModulePass):
    """Makes of products what the partitioner of the test takes."""

    name = "mul-to-sub"

    def apply(self, ctx, op):
        for found in [one for one in op.walk() if isinstance(one, edge.MulTensorOp)]:
            new = edge.SubTensorOp.make(found.self, found.other)
            found.parent_block().insert_op_before(new, found)
            found.result.replace_all_uses_with(new.result)
            found.parent_block().erase_op(found)


@pytest.mark.parametrize("passes", [[MulToSub()], {"one": [MulToSub()], "two": [MulToSub()]}])
def test_partitioners_see_what_passes_made(programs, passes):
    partitioner = NestedPartitioner(only=["sub.Tensor"])
    lowered = to_edge_transform_and_lower(programs, passes, [partitioner])
    assert {method for method, _, _ in lowered.delegation.partitions} == {"one", "two"}
    one = to_edge_transform_and_lower(programs, {"one": [MulToSub()]}, {"one": [partitioner]})
    assert {method for method, _, _ in one.delegation.partitions} == {"one"}
    assert "edge.mul.Tensor" in ops(one, "two")


def test_constant_methods_in_their_place(programs):
    """The order of the arguments is upstream's."""
    lowered = to_edge_transform_and_lower(programs["one"], None, None, {"width": 3}, EdgeCompileConfig())
    assert lowered.methods == {"forward", "width"}
