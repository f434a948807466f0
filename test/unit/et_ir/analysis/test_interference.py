"""Interference of registers: which may be one memory, on plans small enough to see it."""

from __future__ import annotations

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.ir import SSAValue
from xdsl.parser import Parser

from bench.growth import SHAPES
from et_ir.analysis import interference
from et_ir.analysis.byte_copies import copies_of
from et_ir.analysis.interference import Interference
from et_ir.dialects.edge import Edge
from et_ir.dialects.executorch import Executorch, KernelCallOp, PlanOp
from et_ir.dialects.program import Program
from et_ir.driver.configs import EdgeCompileConfig, ExecutorchBackendConfig
from et_ir.driver.stages import backend_stage, edge_stages, executorch_stage, run_stages
from et_ir.text import parse_module
from et_tools.reading import compiler_context

OVER = {"aten::relu.out": frozenset({"self"}), "aten::native_layer_norm.out": frozenset({"input"})}


def parsed(body: str) -> tuple[Interference, dict[str, SSAValue], PlanOp]:
    context = Context()
    for dialect in (Builtin, Program, Edge, Executorch):
        context.load_dialect(dialect)
    module = Parser(context, f"executorch.plan @forward {{\n{body}\n}}").parse_module()
    module.verify()
    plan = module.body.block.first_op
    assert isinstance(plan, PlanOp)
    return Interference(plan, OVER), {str(op.result.name_hint): op.result for op in plan.registers}, plan


def may_unite(body: str, one: str, other: str, first: int = 0) -> bool:
    memory, registers, _ = parsed(body)
    return memory.may_unite(registers[one], registers[other], first)


def declare(*names: str, type: str = "tensor<8xf32>") -> str:
    return "".join(f"%{name} = executorch.alloc : {type}\n" for name in names)


def call(source: str, target: str, operator: str = "aten::relu.out") -> str:
    return f'executorch.kernel_call "{operator}"({source}) outs({target})\n'


def copy(source: str, target: str) -> str:
    return f'executorch.kernel_call "aten::copy_"({target}, {source}, false) returns({target})\n'


INPUT = "%x = executorch.input : tensor<8xf32>\n"
FLIP = "aten::flip.out"


def test_a_kernel_may_write_over_what_it_reads_element_by_element() -> None:
    start = INPUT + declare("a", "b") + call("%x", "%a")
    assert may_unite(start + call("%a", "%b") + "executorch.return %b", "b", "a")
    # Behind that, the argument is needed; and another kernel reads what it has written over.
    assert not may_unite(start + call("%a", "%b") + "executorch.return %a, %b", "b", "a")
    assert not may_unite(start + call("%a, [0]", "%b", FLIP) + "executorch.return %b", "b", "a")


def test_only_the_first_result_may_be_written_over_an_argument() -> None:
    body = "%x = executorch.input : tensor<1x1xf32>\n%w = executorch.input : tensor<1xf32>\n"
    body += declare("a", "o", "m", "d", type="tensor<1x1xf32>") + call("%x", "%a")
    body += call("%a, [1], %w, %w, 1.0e-05", "%o, %m, %d", "aten::native_layer_norm.out")
    body += "executorch.return %o, %m"
    assert may_unite(body, "o", "a")
    assert not may_unite(body, "m", "a")
    assert not may_unite(body, "m", "o")


def test_a_copy_does_not_interfere_where_it_leaves_the_bytes() -> None:
    body = INPUT + declare("a", "b") + call("%x", "%a") + copy("%a", "%b")
    assert may_unite(body + "executorch.return %a, %b", "b", "a")
    # One of them changes while the other is needed.
    assert not may_unite(body + call("%x", "%a") + "executorch.return %a, %b", "b", "a")
    assert not may_unite(body + call("%a", "%b") + "executorch.return %a, %b", "b", "a")


def test_a_part_may_lie_only_where_it_was_copied_from() -> None:
    body = INPUT + declare("a") + declare("b", type="tensor<4xf32>") + call("%x", "%a")
    body += call("%a, 0, 4, 8, 1", "%b", "aten::slice_copy.Tensor_out") + "executorch.return %a, %b"
    assert may_unite(body, "b", "a", 16)
    assert not may_unite(body, "b", "a", 0)


def test_writes_of_other_bytes_do_not_interfere() -> None:
    body = INPUT + declare("c") + declare("p", type="tensor<4xf32>")
    body += "%v = executorch.view %c : tensor<4xf32>\n%w = executorch.view %c from 16 : tensor<4xf32>\n"
    body += call("%x, 0, 0, 8, 2", "%p", "aten::slice_copy.Tensor_out") + call("%p", "%w")
    # What it writes last is the first half, while the part is needed.
    body += call("%w, [0]", "%v", FLIP) + "executorch.return %p, %v"
    assert not may_unite(body, "p", "c", 0)
    assert not may_unite(body, "p", "c", 16)
    rest = body.replace("outs(%v)", "outs(%w)").replace("%w, [0]", "%p, [0]")
    assert may_unite(rest.replace("%p, %v", "%p, %w"), "p", "c", 0)


def test_a_loop_brings_the_next_write_round() -> None:
    body = INPUT + declare("carried", "inner") + "%c = executorch.value true : i1\n" + call("%x", "%carried")
    body += "executorch.jump ^body\n^body:\n" + call("%carried", "%inner")
    end = "executorch.jump_false %c, ^body, ^end\n^end:\nexecutorch.return %inner"
    assert not may_unite(body + end, "inner", "carried")
    assert may_unite(body + copy("%inner", "%carried") + end, "inner", "carried")


def test_what_refers_to_other_memory_is_never_one_with_anything() -> None:
    body = INPUT + declare("a", "b", "m") + call("%x", "%a") + "executorch.move %a to %m\n"
    body += call("%m", "%b") + "executorch.return %b"
    assert not may_unite(body, "b", "m")
    assert may_unite(body, "b", "a") is False  # the kernel reads %a by another name
    # What is moved from is needed for as long as the other refers to it.
    body = INPUT + declare("a", "b", "m") + call("%x", "%a") + "executorch.move %a to %m\n"
    assert not may_unite(body + call("%x", "%b") + call("%m", "%b") + "executorch.return %b", "b", "a")
    assert may_unite(body + call("%m, [0]", "%x", FLIP) + call("%x", "%b") + "executorch.return %b", "b", "a")


def test_registers_on_other_devices_are_other_memory() -> None:
    body = INPUT + '%a = executorch.alloc {device = "cuda:0"} : tensor<8xf32>\n' + declare("b")
    assert not may_unite(body + call("%x", "%a") + call("%a", "%b") + "executorch.return %b", "b", "a")


def test_what_has_become_one_stands_for_all_of_it() -> None:
    body = INPUT + declare("a", "b", "c") + call("%x", "%a") + copy("%a", "%b") + call("%a", "%c")
    memory, registers, plan = parsed(body + "executorch.return %b, %c")
    a, b, c = (registers[name] for name in "abc")
    assert memory.may_unite(c, a)
    memory.unite(b, a)
    b.replace_all_uses_with(a)
    # What %b holds is needed still, and is in %a now.
    assert not memory.may_unite(c, a)
    assert a in memory.outputs
    assert [write.time for write in memory.writes(a)] == [1, 2]
    store = plan.instructions[1]
    memory.forget(store)
    assert [write.time for write in memory.writes(a)] == [1]


def test_concatenations_and_splits_are_copies_of_their_parts() -> None:
    body = INPUT + declare("p", "q", type="tensor<4xf32>") + declare("c")
    body += 'executorch.kernel_call "aten::split_copy.Tensor_out"(%x, 4, 0) outs([%p, %q])\n'
    body += call("[%q, %p], 0", "%c", "aten::cat.out") + "executorch.return %c"
    _, registers, plan = parsed(body)
    names = {register: name for name, register in registers.items()}
    copies = [
        (names[copy.source.root], copy.source.first, names[copy.target.root], copy.target.first)
        for op in plan.instructions
        if isinstance(op, KernelCallOp)
        for copy in copies_of(op)
    ]
    assert copies == [("x", 0, "p", 0), ("x", 16, "q", 0), ("q", 0, "c", 0), ("p", 0, "c", 16)]


@pytest.mark.parametrize("shape", SHAPES)
def test_large_sets_are_as_small_ones(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an index finds is what looking at each register finds."""
    texts: list[str] = []
    for few in (0, 1 << 30):
        monkeypatch.setattr(interference, "_FEW", few)
        module = parse_module(compiler_context(), SHAPES[shape](40))
        config = ExecutorchBackendConfig(target="et-vm")
        run_stages(module, [*edge_stages(EdgeCompileConfig()), backend_stage(), executorch_stage(config)])
        texts.append(str(module))
    assert texts[0] == texts[1]
