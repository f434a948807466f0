"""Control flow, state and several methods of freestanding objects, called in emulators: the results of eager."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import freestanding_machines as machines
import numpy as np
import pytest
import torch
from support.accuracy import assert_accurate, truth_of
from torch import Tensor, nn
from torch._higher_order_ops.map import map as torch_map
from torch._higher_order_ops.scan import scan

from et_backends.freestanding.compiler.programs import FreestandingObject, compile_program
from et_backends.freestanding.compiler.whole_program import UnsupportedProgram

TARGETS = ["cortex-m4", "riscv64gc"]


@pytest.fixture(autouse=True)
def without_gradients() -> Iterator[None]:
    with torch.no_grad():
        yield


def compiled(module: nn.Module, inputs: tuple[Tensor, ...], target: str) -> FreestandingObject:
    return compile_program(torch.export.export(module.eval(), inputs), target, "net")


def check(module: nn.Module, target: str, folder: Path, *calls: tuple[Tensor, ...]) -> FreestandingObject:
    """The results of calls one after the other, and of eager."""
    made = compiled(module, calls[0], target)
    state = machines.reset(target, folder, made) if made.state else b""
    for inputs in calls:
        found = machines.run(target, folder, made, [one.numpy() for one in inputs], state=state)
        assert found.status == 0
        assert found.stack <= made.stack_bytes
        expected = module(*inputs)
        expected = [expected] if isinstance(expected, Tensor) else list(expected)
        for one, other in zip(found.outputs, expected, strict=True):
            wanted = other.numpy()
            np.testing.assert_allclose(one, wanted, rtol=0, atol=1e-6 * max(1, np.abs(wanted).max()))
        state = found.state
    return made


class Counter(nn.Module):
    """State that starts as a number, and some that starts as zeros."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.tensor([3.0]))
        self.register_buffer("bytes", torch.zeros(3, dtype=torch.int8))
        self.register_buffer("total", torch.zeros(2, 4))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        before = self.total + 0
        self.calls.add_(1)
        self.bytes.add_(2)
        self.total.add_(x)
        return before + self.calls, self.bytes + 0


class Swap(nn.Module):
    """What is read of state is needed when it has another value."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("a", torch.ones(4))
        self.register_buffer("b", torch.zeros(4))

    def forward(self, x: Tensor) -> Tensor:
        a, b = self.a.clone(), self.b.clone()
        self.a.copy_(b)
        self.b.copy_(a + x)
        return a - b


class Branch(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y = self.linear(x)

        def larger(y: Tensor) -> tuple[Tensor, Tensor]:
            def both(y: Tensor) -> Tensor:
                return y * 3

            return torch.cond(y.sum() > 100, both, torch.neg, (y,)), y

        return torch.cond(x.sum() > 0, larger, lambda y: (self.linear(y), y + 1), (y,))


class Rotate(nn.Module):
    """A loop whose body gives what it carries in another order."""

    def forward(self, n: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        def more(i: Tensor, a: Tensor, b: Tensor) -> Tensor:
            return i < n[0]

        def body(i: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            return i + 1, b.clone(), a * 2 + y

        return torch.while_loop(more, body, (torch.zeros((), dtype=torch.int64), x, y))


class Rows(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 3)

    def forward(self, xs: Tensor) -> Tensor:
        return torch_map(lambda x: torch.relu(self.linear(x)), xs)


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, h: Tensor, xs: Tensor) -> tuple[Tensor, Tensor]:
        def step(h: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
            h = torch.tanh(self.linear(h) + x)
            return h, h * 2

        return scan(step, h, xs)


@pytest.mark.parametrize("target", TARGETS)
def test_state(target: str, tmp_path: Path):
    made = check(Counter(), target, tmp_path, *((torch.randn(2, 4),) for _ in range(3)))
    assert made.state_bytes == 4 + 4 + 32
    assert "float calls[1]; /* 1 */\n  int8_t bytes[3]; /* 3 */\n  float total[8]; /* 2 × 4 */" in made.header
    assert "void net_reset_state(net_state *state);" in made.header
    assert made.functions == ["net_forward", "net_reset_state"]


@pytest.mark.parametrize("target", TARGETS)
def test_state_that_is_read_late(target: str, tmp_path: Path):
    check(Swap(), target, tmp_path, *((torch.randn(4),) for _ in range(3)))


@pytest.mark.parametrize("target", TARGETS)
def test_branches(target: str, tmp_path: Path):
    x = torch.rand(2, 4)
    check(Branch(), target, tmp_path, (x,), (-x,), (1000 * x,))


@pytest.mark.parametrize("target", TARGETS)
def test_loop(target: str, tmp_path: Path):
    x, y = torch.randn(2, 3), torch.randn(2, 3)
    check(Rotate(), target, tmp_path, *((torch.tensor([n]), x, y) for n in (0, 1, 4)))


@pytest.mark.parametrize("target", TARGETS)
def test_map(target: str, tmp_path: Path):
    check(Rows(), target, tmp_path, (torch.randn(5, 2, 4),))


@pytest.mark.parametrize("target", TARGETS)
def test_scan(target: str, tmp_path: Path):
    check(Recurrent(), target, tmp_path, (torch.zeros(2, 4), torch.randn(6, 2, 4)))


class Cache(nn.Module):
    """Two methods with the same weights and the same state."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(64, 64)
        self.register_buffer("rows", torch.zeros(3, 64))
        self.register_buffer("count", torch.zeros(1, dtype=torch.int64))

    def write(self, x: Tensor) -> Tensor:
        y = torch.relu(self.linear(x))
        self.rows.index_put_((self.count,), y)
        self.count.add_(1)
        return y

    def read(self, x: Tensor) -> Tensor:
        return self.linear(x) @ self.rows.t()


class Method(nn.Module):
    def __init__(self, cache: Cache, name: str) -> None:
        super().__init__()
        self.cache = cache
        self._name = name

    def forward(self, x: Tensor) -> Tensor:
        return getattr(self.cache, self._name)(x)


@pytest.mark.parametrize("target", TARGETS)
def test_methods(target: str, tmp_path: Path):
    cache, x = Cache(), torch.randn(1, 64)
    modules = {name: Method(cache, name).eval() for name in ("write", "read")}
    made = compile_program(
        {name: torch.export.export(module, (x,)) for name, module in modules.items()}, target, "net"
    )
    assert made.constant_bytes < 1.1 * 64 * 65 * 4
    assert [one.function for one in made.methods] == ["net_write", "net_read"]
    assert (
        "int net_read(const net_read_inputs *inputs, net_read_outputs *outputs, net_state *state"
        in made.header
    )
    assert made.header.count("net_state;") == 1
    by_name = {one.method: one for one in made.methods}
    state = machines.reset(target, tmp_path, made)
    for name in ("write", "read", "write", "read"):
        x = torch.randn(1, 64)
        found = machines.run(target, tmp_path, made, [x.numpy()], method=by_name[name], state=state)
        assert found.status == 0
        np.testing.assert_allclose(found.outputs[0], modules[name](x).numpy(), rtol=1e-5, atol=1e-5)
        state = found.state


@pytest.mark.parametrize("target", TARGETS)
def test_an_index_that_ends_a_call(target: str, tmp_path: Path):
    """The fourth row of three: nothing after it is computed, and the call says what is wrong."""
    cache, x = Cache(), torch.randn(1, 64)
    made = compiled(Method(cache, "write"), (x,), target)
    state = machines.reset(target, tmp_path, made)
    statuses: list[int] = []
    for _ in range(4):
        found = machines.run(target, tmp_path, made, [x.numpy()], state=state)
        statuses.append(found.status)
        state = found.state
    assert statuses == [0, 0, 0, 1]
    assert "   1 — " in made.header


@pytest.mark.parametrize(
    "target", ["cortex-m0plus", "cortex-m4", "cortex-m33", "riscv32imac", "riscv64gc", "x86-64", "aarch64"]
)
def test_position_independence(target: str, tmp_path: Path):
    """The object runs where it was not linked for."""
    module, x = Branch(), torch.rand(2, 4)
    made = compile_program(torch.export.export(module.eval(), (x,)), target, "net", pic=True)
    found = machines.run(target, tmp_path, made, [x.numpy()], moved=0x3_0000)
    assert_accurate(found.outputs[1], truth_of(module.linear, x))


@pytest.mark.parametrize("names", [["inputs"], ["state"], ["a", "a_outputs"]])
def test_methods_with_the_names_of_structures(names: list[str]):
    """A function and a type of one name are no C."""
    program = torch.export.export(Counter().eval(), (torch.rand(2, 4),))
    with pytest.raises(UnsupportedProgram, match=f"a function and a type would be 'net_{names[-1]}'"):
        compile_program(dict.fromkeys(names, program), "cortex-m4", "net")


def test_no_position_independence_of_web_assembly():
    program = torch.export.export(Branch().eval(), (torch.rand(2, 4),))
    with pytest.raises(ValueError, match="WebAssembly has no addresses of code, leave out pic=True"):
        compile_program(program, "wasm32", "net", pic=True)
