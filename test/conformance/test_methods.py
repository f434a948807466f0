"""Several methods in one file: what they share, what each has of its own, and that lowering changes nothing.

Eager modules that share a submodule are the oracle, on the VM with both kernel libraries and on the stock runtime.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from stock import StockRuntime
from torch import Tensor, nn
from torch.export import ExportedProgram, export

from et_ir import EdgeProgramManager, ExecutorchBackendConfig, to_edge
from et_schema.pte import read_pte
from et_vm import MemoryManager
from et_vm import Program as CoreProgram
from et_vm.runtime import Program, Runtime

WIDTH = 64


class Memory(nn.Module):
    """Weights and state that the methods have in common."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.fc = nn.Linear(WIDTH, WIDTH)
        self.register_buffer("total", torch.full((WIDTH,), 2.0))
        self.register_buffer("calls", torch.zeros(1, dtype=torch.int64))


class Fill(nn.Module):
    """Many rows at once; the state becomes their sum."""

    def __init__(self, memory: Memory) -> None:
        super().__init__()
        self.memory = memory

    def forward(self, x: Tensor) -> Tensor:
        y = torch.relu(self.memory.fc(x))
        self.memory.total.copy_(y.sum(dim=0))
        self.memory.calls.add_(1)
        return y


class Step(nn.Module):
    """One row, added to the state."""

    def __init__(self, memory: Memory) -> None:
        super().__init__()
        self.memory = memory

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        self.memory.total.add_(torch.relu(self.memory.fc(x))[0])
        self.memory.calls.add_(1)
        return self.memory.total * 1, self.memory.calls * 1


class Look(nn.Module):
    """Reads the state and leaves it."""

    def __init__(self, memory: Memory) -> None:
        super().__init__()
        self.memory = memory

    def forward(self) -> Tensor:
        return self.memory.total - 1


CONSTANTS = {"width": WIDTH, "scales": (torch.tensor([0.5, 2.0]), 3), "name": "memory"}


def modules() -> dict[str, nn.Module]:
    """The methods, in eager."""
    memory = Memory()
    return {"fill": Fill(memory), "step": Step(memory), "look": Look(memory)}


def inputs(name: str, seed: int = 0) -> tuple[Tensor, ...]:
    generator = torch.Generator().manual_seed(seed)
    rows = {"fill": 50, "step": 1}.get(name)
    return () if rows is None else (torch.randn(rows, WIDTH, generator=generator),)


def exported() -> dict[str, ExportedProgram]:
    return {name: export(module, inputs(name)) for name, module in modules().items()}


@cache
def edge() -> EdgeProgramManager:
    return to_edge(exported(), CONSTANTS)


@cache
def file() -> bytes:
    return edge().to_executorch().buffer


TURNS = ("look", "step", "fill", "look", "step", "step", "look", "fill", "look")
"""An order of calls in which each method sees what another has written."""


def flat(found: Any) -> list[Any]:
    return list(found) if isinstance(found, tuple | list) else [found]


def check(call: Any) -> None:
    """Compare the methods, in turn, with eager."""
    eager = modules()
    for seed, name in enumerate(TURNS):
        given = inputs(name, seed)
        with torch.no_grad():
            wanted = [value.clone() for value in flat(eager[name](*given))]
        # A method without inputs gives arrays: nothing says that its caller has torch.
        torch.testing.assert_close([torch.as_tensor(value) for value in flat(call(name, given))], wanted)


class TestSharing:
    @pytest.mark.parametrize("poison", [False, True], ids=["plain", "poisoned"])
    @pytest.mark.parametrize("kernels", ["portable", "aten"])
    def test_state_and_weights_on_our_vm(self, kernels: str, poison: bool):
        program = Runtime().load_program(file(), kernels=kernels, poison=poison)
        check(lambda name, given: program.load_method(name).execute(list(given)))

    def test_state_and_weights_on_the_stock_runtime(self, stock: StockRuntime, tmp_path: Path):
        path = tmp_path / "methods.pte"
        path.write_bytes(file())
        check(lambda name, given: stock.run_on(path, given, name))

    @pytest.mark.parametrize("order", [("fill", "step", "look"), ("look", "step", "fill")])
    def test_state_starts_once_whatever_is_loaded_first(self, order: tuple[str, ...]):
        program = Runtime().load_program(file())
        assert program.load_method("look").execute([])[0].tolist() == [1.0] * WIDTH
        program.load_method("step").execute(list(inputs("step")))
        for name in order:
            program.load_method(name)
        assert program.load_method("step").execute(list(inputs("step")))[1].tolist() == [2]

    def test_a_weight_is_in_the_file_once(self):
        weights = 4 * (WIDTH * WIDTH + WIDTH)
        assert weights < len(file()) < weights + 8192
        assert len(edge().to_executorch().buffer) - len(_alone("fill")) < 4096

    def test_two_programs_share_nothing(self):
        first, second = (Runtime().load_program(file()) for _ in range(2))
        first.load_method("step").execute(list(inputs("step")))
        assert second.load_method("look").execute([])[0].tolist() == [1.0] * WIDTH


def _alone(name: str) -> bytes:
    return to_edge({name: exported()[name]}).to_executorch().buffer


def test_constant_methods():
    program = Runtime().load_program(file())
    assert program.method_names == {"fill", "step", "look", *CONSTANTS}
    assert program.load_method("width").execute([]) == [WIDTH]
    assert program.load_method("name").execute([]) == ["memory"]
    scales, three = program.load_method("scales").execute([])
    assert (scales.tolist(), three) == ([0.5, 2.0], 3)


class TestMemory:
    def arenas(self) -> dict[str, list[int]]:
        return {plan.name: plan.non_const_buffer_sizes for plan in read_pte(file()).program.execution_plan}

    def test_each_method_has_a_plan_of_its_own(self):
        arenas = self.arenas()
        assert arenas["fill"][1] >= 4 * 2 * 50 * WIDTH
        assert 0 < arenas["step"][1] < arenas["fill"][1] // 10
        assert arenas["width"][1:] in ([], [0])

    def test_state_has_one_place_in_all_of_them(self):
        arenas = self.arenas()
        assert {arenas[name][2] for name in ("fill", "step", "look")} == {4 * WIDTH + 16}

    def test_arenas_are_shared_and_as_large_as_the_largest_needs(self):
        """The memory of two methods is that of the larger, and the state."""
        core = CoreProgram.load(file())
        memory = core.new_memory()
        fill = self.arenas()["fill"]
        assert memory.sizes == {1: fill[1], 2: fill[2]}

        methods = {name: core.load_method(name, memory=memory) for name in ("fill", "step")}
        outputs = {
            name: method.execute([inputs(name)[0].numpy()], clone_outputs=False)[0]
            for name, method in methods.items()
        }
        assert all(np.shares_memory(value, memory.bank(1, fill[1])) for value in outputs.values())

    def test_a_manager_of_the_caller(self):
        """Methods that are given the same banks share state; those with banks of their own do not."""
        core = CoreProgram.load(file())
        memory = MemoryManager(
            {number: np.zeros(size, np.uint8) for number, size in core.new_memory().sizes.items()}
        )
        together = {name: core.load_method(name, memory=memory) for name in ("fill", "step", "look")}
        first = together["look"].execute([])[0]
        assert first.tolist() == [1.0] * WIDTH
        together["step"].execute(list(inputs("step")))
        assert together["look"].execute([])[0].tolist() != [1.0] * WIDTH

        alone = {name: core.load_method(name) for name in ("step", "look")}
        alone["step"].execute(list(inputs("step")))
        assert alone["look"].execute([])[0].tolist() == [1.0] * WIDTH

    def test_a_bank_that_is_too_small(self):
        from et_schema.errors import OutOfMemory

        core = CoreProgram.load(file())
        memory = core.new_memory(["step"])
        core.load_method("step", memory=memory)
        with pytest.raises(OutOfMemory, match=r"memory id 1 has \d+ bytes, the method needs \d+"):
            core.load_method("fill", memory=memory)


CONFIGS = {
    "default": ExecutorchBackendConfig(),
    "naive": ExecutorchBackendConfig(memory_planning="naive"),
    "et-vm": ExecutorchBackendConfig(target="et-vm"),
    "unplanned": ExecutorchBackendConfig(alloc_graph_input=False, alloc_graph_output=False),
    "external": ExecutorchBackendConfig(external_constants=True),
    "stack traces": ExecutorchBackendConfig(emit_stacktrace=True),
    "alignment": ExecutorchBackendConfig(tensor_alignment=64, segment_alignment=4096),
}


class TestLowering:
    """`to_executorch` is a function of the module and the configuration."""

    @pytest.mark.parametrize("name", CONFIGS)
    def test_twice_gives_the_same_bytes(self, name: str):
        manager = to_edge(exported(), CONSTANTS)
        before = str(manager.module)
        first = manager.to_executorch(CONFIGS[name])
        assert str(manager.module) == before
        assert manager.to_executorch(CONFIGS[name]).buffer == first.buffer
        assert str(manager.module) == before

    def test_other_configurations_in_between_change_nothing(self):
        manager = to_edge(exported(), CONSTANTS)
        before = str(manager.module)
        alone = {name: to_edge(exported(), CONSTANTS).to_executorch(c).buffer for name, c in CONFIGS.items()}
        assert len(set(alone.values())) > len(CONFIGS) // 2
        for name in (*CONFIGS, *reversed(CONFIGS)):
            assert manager.to_executorch(CONFIGS[name]).buffer == alone[name], name
            assert str(manager.module) == before

    def test_the_order_of_the_methods_does_not_matter(self):
        reordered = dict(reversed(exported().items()))
        assert set(to_edge(reordered, CONSTANTS).methods) == set(edge().methods)
        program: Program = Runtime().load_program(to_edge(reordered, CONSTANTS).to_executorch().buffer)
        check(lambda name, given: program.load_method(name).execute(list(given)))

    @pytest.mark.parametrize("name", ["naive", "et-vm", "unplanned", "alignment", "stack traces"])
    def test_every_configuration_computes_the_same(self, name: str):
        program = Runtime().load_program(edge().to_executorch(CONFIGS[name]).buffer)
        check(lambda method, given: program.load_method(method).execute(list(given)))
