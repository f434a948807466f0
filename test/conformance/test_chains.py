"""Random programs in chains: the bits of the order before, on et-vm, in random schedules under poison, and on stock."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import torch
from stock import StockRuntime
from support.chain_schedules import Scheduler, without_races_checked
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.parser import Parser
from xdsl.passes import ModulePass

from et_ir import ExecutorchBackendConfig, to_edge
from et_ir.analysis.chains import Chains
from et_ir.diagnostics import PassReport
from et_ir.dialects.executorch import ChainOp, Executorch, PlanOp
from et_ir.dialects.program import Program as ProgramDialect
from et_ir.emit import disassemble, write
from et_ir.passes.memory.form_chains import FormChainsPass
from et_ir.passes.memory.plan_memory import PlanMemoryPass
from et_ir.passes.raising.raise_plans import RaisePlansPass
from et_ir.passes.verify.verify_chains import VerifyChainsPass
from et_ir.passes.verify.verify_executorch import VerifyExecutorchPass
from et_schema.errors import InvalidFile
from et_schema.pte import read_pte
from et_vm.platform import Platform
from et_vm.program import Program, Verification
from et_vm.run.chains import ChainLoop

INPUTS = [np.array([1.5, -2, 3, 0.25], np.float32), np.array([-1, 2.5, 0.5, -4], np.float32)]


def random_program(seed: int, length: int) -> str:
    """A program on registers of four floats: results of their own, written over operands, over what others read before,
    into parts of others, and into a state.
    """
    random = Random(seed)
    lines = [
        "program.buffer mutable @s : tensor<4xf32>",
        "executorch.plan @forward {",
        "  %x = executorch.input : tensor<4xf32>",
        "  %y = executorch.input : tensor<4xf32>",
        "  %s = executorch.state @s : tensor<4xf32>",
    ]
    written = ["%x", "%y", "%s"]
    own: list[str] = []
    for number in range(length):
        a, b = random.choice(written), random.choice(written)
        kind = random.random()
        if kind < 0.1:
            out = "%s"
        elif kind < 0.3 and own:
            out = random.choice([a, b]) if {a, b} <= set(own) else random.choice(own)
        else:
            out = f"%r{number}"
            lines.append(f"  {out} = executorch.alloc : tensor<4xf32>")
            own.append(out)
            written.append(out)
        if kind > 0.9:
            # A register that is written in two halves.
            for half in range(2):
                view = f"%h{number}_{half}"
                lines.append(f"  {view} = executorch.view {out} from {8 * half} : tensor<2xf32>")
                source = f"%p{number}_{half}"
                operand = random.choice([one for one in written if one != out])
                lines.append(f"  {source} = executorch.view {operand} from {8 * half} : tensor<2xf32>")
                lines.append(f'  executorch.kernel_call "aten::neg.out"({source}) outs({view})')
            continue
        operator = random.choice(["add", "sub", "neg", "abs"])
        operands = a if operator in ("neg", "abs") else f"{a}, {b}, 1"
        lines.append(f'  executorch.kernel_call "aten::{operator}.out"({operands}) outs({out})')
    outputs = ", ".join(dict.fromkeys(own[-3:])) or "%x"
    return "\n".join([*lines, f"  executorch.return {outputs}", "}"])


def compiled(text: str, passes: Sequence[ModulePass]) -> tuple[ModuleOp, bytes]:
    ctx = Context()
    for dialect in (Builtin, Executorch, ProgramDialect):
        ctx.load_dialect(dialect)
    module = Parser(ctx, text).parse_module()
    for one in passes:
        one.apply(ctx, module)
        module.verify()
    stream = io.BytesIO()
    write(module, stream)
    return module, stream.getvalue()


def results(file: bytes, threads: int, times: int = 2) -> list[bytes]:
    program = Program.load(file, Verification.Lifetimes, platform=Platform(threads=threads))
    method = program.load_method("forward")
    return [one.tobytes() for _ in range(times) for one in method.execute(INPUTS)]


def of_stock(stock: StockRuntime, path: Path, file: bytes) -> list[bytes]:
    path.write_bytes(file)
    outputs: list[Any] = stock.run(path, [torch.from_numpy(one.copy()) for one in INPUTS])
    return [np.asarray(one).tobytes() for one in outputs]


@pytest.mark.parametrize("first", range(0, 400, 20))
def test_random_programs(first: int, tmp_path: Path) -> None:
    several = 0
    with StockRuntime() as stock:
        for seed in range(first, first + 20):
            text = random_program(seed, 4 + seed % 25)
            _, plain = compiled(text, [PlanMemoryPass(), VerifyExecutorchPass()])
            threads = 2 + seed % 3
            module, chained = compiled(
                text,
                [
                    FormChainsPass(threads, synchronization=0, gain=10**6),
                    PlanMemoryPass(check=True),
                    VerifyExecutorchPass(),
                    VerifyChainsPass(),
                ],
            )
            expected = results(plain, 1)
            assert results(chained, 1) == expected, seed
            assert results(chained, threads) == expected, seed
            (plan,) = (op for op in module.body.block.ops if isinstance(op, PlanOp))
            if Chains(plan).concurrent:
                several += 1
                program = Program.load(chained, platform=Platform(threads=threads))
                assert isinstance(program.load_method("forward")._loop, ChainLoop)
                for schedule in range(3):
                    scheduler = Scheduler(chained)
                    found = scheduler.random(INPUTS, schedule)
                    assert list(found) == expected[: len(found)], (seed, schedule)
            # The signs of zeros are others than ours on stock, chains or not.
            outputs = [of_stock(stock, tmp_path / f"{seed}.pte", file) for file in (plain, chained)]
            assert outputs[0] == outputs[1], seed
    assert several >= 10


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_a_missing_edge_is_found_wherever_it_shows(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = 0
    for seed in range(first, first + 20):
        text = random_program(seed, 4 + seed % 25)
        module, chained = compiled(
            text, [FormChainsPass(3, synchronization=0, gain=10**6), PlanMemoryPass(), VerifyChainsPass()]
        )
        (plan,) = (op for op in module.body.block.ops if isinstance(op, PlanOp))
        waiting = [chain for chain in plan.chains if chain.inputs]
        if not waiting:
            continue
        chain = Random(seed).choice(waiting)
        alone = ChainOp([], list(chain.outs))
        block = chain.parent_block()
        assert block is not None
        block.insert_op_before(alone, chain)
        chain.detach()
        stream = io.BytesIO()
        write(module, stream)
        file = stream.getvalue()
        expected = results(chained, 1, times=1)
        with monkeypatch.context() as patch:
            without_races_checked(patch)
            differs = any(list(Scheduler(file).random(INPUTS, schedule)) != expected for schedule in range(6))
        if differs:
            shown += 1
            with pytest.raises(InvalidFile, match=r"may run at the same time|which only chain"):
                Program.load(file).load_method("forward")
            with pytest.raises(PassReport, match="chains_c"):
                VerifyChainsPass().apply(Context(), module)
    assert shown >= 5


class Towers(torch.nn.Module):
    """Two towers that do not depend on each other, a state, and what needs both."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(1))
        self.first = torch.nn.Sequential(
            torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 256)
        )
        self.second = torch.nn.Sequential(
            torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.Linear(512, 256)
        )

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        self.count.add_(1)
        return torch.cat([self.first(x), self.second(y)], 1).sum(1) + self.count


def test_a_compiled_model(tmp_path: Path) -> None:
    torch.manual_seed(0)
    inputs = (torch.randn(128, 256), torch.randn(128, 256))
    exported = torch.export.export(Towers().eval(), inputs)
    files = [
        to_edge(exported).to_executorch(ExecutorchBackendConfig(chains=chains, check_plan=True)).buffer
        for chains in (1, 2)
    ]
    methods = [
        Program.load(file, Verification.Lifetimes, platform=Platform(threads=2)).load_method("forward")
        for file in files
    ]
    assert [isinstance(method._loop, ChainLoop) for method in methods] == [False, True]
    for _ in range(3):
        expected, found = (method.execute(inputs)[0].numpy().tobytes() for method in methods)
        assert found == expected
    with StockRuntime() as stock:
        outputs = [stock.run(_written(tmp_path / "model.pte", file), inputs)[0].numpy() for file in files]
    assert outputs[0].tobytes() == outputs[1].tobytes()
    raised = disassemble(read_pte(files[1]))
    RaisePlansPass().apply(Context(), raised)
    assert not [op for op in raised.walk() if isinstance(op, PlanOp)]
    again = io.BytesIO()
    write(disassemble(read_pte(files[1])), again)
    assert again.getvalue() == files[1]


def _written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path
