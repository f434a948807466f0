"""Writes into tensors: replaced without another trace where that is provably right, by torch where it is not."""

import warnings
from typing import Any

import pytest
import torch
from support.programs import Calls
from support.programs import run as run_file
from torch import Tensor, nn
from xdsl.dialects.builtin import ModuleOp

from et_ir import to_edge
from et_ir.frontend import UnsupportedProgram, import_program


class Net(nn.Module):
    """A module whose forward is a function, with two buffers for it to use."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function
        self.register_buffer("a", torch.ones(2, 3))
        self.register_buffer("n", torch.tensor(0))

    def forward(self, x: Tensor) -> Any:
        return self.function(self, x)


def relu_in_place(net: Net, x: Tensor) -> Any:
    return (x + 1).relu_()


def chain(net: Net, x: Tensor) -> Any:
    y = x * 2
    y += x
    y.relu_().clamp_(max=3.0)
    return y, y + 1


def after_linear(net: Net, x: Tensor) -> Any:
    return torch.nn.functional.linear(x, net.a).add_(x[:, :2]).relu_()


def written_twice(net: Net, x: Tensor) -> Any:
    y = x.clone()
    z = y.mul_(2)
    z.add_(1)
    return y - x, z


def one_of_two_results(net: Net, x: Tensor) -> Any:
    """As routers of mixtures of experts do: indices are other memory than the values that are divided."""
    values, indices = torch.topk(x, 2)
    values /= values.sum(dim=-1, keepdim=True)
    return values, indices + 1


def itself(net: Net, x: Tensor) -> Any:
    y = x + 0
    y.add_(y)
    return y


def dead_view(net: Net, x: Tensor) -> Any:
    y = x + 1
    s = y.view(-1).sum()
    y.mul_(s)
    return y


def indices(net: Net, x: Tensor) -> Any:
    y = x.clone()
    y.index_put_((torch.tensor([0]),), torch.tensor([9.0]))
    y.masked_fill_(y > 2, 0.0)
    return y


def buffer_copy(net: Net, x: Tensor) -> Any:
    net.a.copy_(x)
    return net.a + 1


def buffer_steps(net: Net, x: Tensor) -> Any:
    before = net.a + 0
    net.n.add_(1)
    net.a.add_(x).mul_(2)
    return before, net.a * 1, net.n * 1


def buffer_broadcast(net: Net, x: Tensor) -> Any:
    net.a.copy_(x[0])
    return net.a.sum()


def buffer_filled(net: Net, x: Tensor) -> Any:
    net.a.zero_()
    net.n.fill_(3)
    return x + net.a + net.n


def detached(net: Net, x: Tensor) -> Any:
    y = (x + 1).detach_()
    y.add_(1)
    return y


# Beyond the proof: torch functionalises these.


def view_of_local(net: Net, x: Tensor) -> Any:
    y = x.clone()
    y[:, 0] = 5
    y[0].mul_(2)
    return y


def base_through_view(net: Net, x: Tensor) -> Any:
    y = x + 1
    v = y.view(-1)
    y.mul_(2)
    return v


def maybe_the_input(net: Net, x: Tensor) -> Any:
    y = x + 1
    z = torch.nn.functional.dropout(y, training=False)
    z.mul_(2)
    return y, z


def einsum_view(net: Net, x: Tensor) -> Any:
    y = x + 1
    z = torch.einsum("ij->ji", y)
    z.mul_(2)
    return y


def maybe_views(net: Net, x: Tensor) -> Any:
    a, b, c, d = x + 1, x + 2, x + 3, x + 4
    a.reshape(-1).mul_(2)
    b.flatten().add_(1)
    c.contiguous().add_(1)
    d.to(torch.float32).relu_()
    return a, b, c, d


def view_of_buffer(net: Net, x: Tensor) -> Any:
    net.a[0].copy_(x[1])
    return net.a + x


def narrowing(net: Net, x: Tensor) -> Any:
    y = x + 0
    y.add_(x.to(torch.float64))
    return y


def comparison(net: Net, x: Tensor) -> Any:
    y = x + 0
    y.gt_(0)
    return y


def random_split(net: Net, x: Tensor) -> Any:
    y = x.clone()
    a, b, c = y.split(1, dim=1)
    a.add_(10)
    b.copy_(a)
    return y, c


def other_overload(net: Net, x: Tensor) -> Any:
    y = torch.zeros(2, 3)
    torch.add(x, 1, out=y)
    return y


PROVEN = [relu_in_place, chain, after_linear, written_twice, one_of_two_results, itself, dead_view, indices,
          buffer_copy, buffer_steps, buffer_broadcast, buffer_filled, detached]  # fmt: skip
TRACED = [view_of_local, base_through_view, maybe_the_input, einsum_view, maybe_views, view_of_buffer,
          narrowing, comparison, random_split, other_overload]  # fmt: skip


def run(function: Any) -> ModuleOp:
    """Import and compare two runs, so that state is compared too."""
    from support.aten_interpreter import Interpreter
    from torch.utils._pytree import tree_leaves

    module = import_program(torch.export.export(Net(function).eval(), (torch.randn(2, 3),)))
    module.verify()
    eager, interpreter = Net(function).eval(), Interpreter(module)
    for _ in range(2):
        x = torch.randn(2, 3)
        want = tree_leaves(eager(x.clone()))
        got = interpreter.run(x)
        assert len(got) == len(want)
        for mine, theirs in zip(got, want, strict=True):
            torch.testing.assert_close(mine, theirs)
    return module


@pytest.mark.parametrize("function", PROVEN, ids=lambda f: f.__name__)
def test_proven_without_tracing(function: Any, monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("traced again")

    monkeypatch.setattr(torch.export.ExportedProgram, "run_decompositions", refuse)
    run(function)


@pytest.mark.parametrize("function", TRACED, ids=lambda f: f.__name__)
def test_left_to_torch(function: Any, monkeypatch: pytest.MonkeyPatch):
    calls: list[int] = []
    original = torch.export.ExportedProgram.run_decompositions

    def counted(self: Any, *args: Any, **kwargs: Any) -> Any:
        calls.append(1)
        return original(self, *args, **kwargs)

    monkeypatch.setattr(torch.export.ExportedProgram, "run_decompositions", counted)
    run(function)
    assert calls


def test_programs_without_writes_are_not_traced(monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("traced again")

    net = nn.Sequential(
        nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Dropout(), nn.MaxPool2d(2)
    ).eval()
    program = torch.export.export(net, (torch.randn(1, 1, 6, 6),))
    monkeypatch.setattr(torch.export.ExportedProgram, "run_decompositions", refuse)
    import_program(program)


def test_writes_of_any_size_are_not_traced(monkeypatch: pytest.MonkeyPatch):
    class Cache(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rows = nn.Buffer(torch.zeros(8, 3))

        def forward(self, x: Tensor, at: Tensor) -> Tensor:
            self.rows.index_copy_(0, at, x)
            return self.rows.sum(0)

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("traced again")

    n = torch.export.Dim("n", min=1, max=8)
    program = torch.export.export(
        Cache(), (torch.ones(3, 3), torch.arange(3)), dynamic_shapes=({0: n}, {0: n})
    )
    monkeypatch.setattr(torch.export.ExportedProgram, "run_decompositions", refuse)
    module = import_program(program)
    from support.aten_interpreter import Interpreter

    interpreter = Interpreter(module)
    (total,) = interpreter.run(torch.full((2, 3), 2.0), torch.tensor([6, 1]))
    torch.testing.assert_close(total, torch.full((3,), 4.0))
    torch.testing.assert_close(interpreter.symbols["rows"][[1, 6]], torch.full((2, 3), 2.0))


def test_running_statistics_in_training_mode():
    net = nn.BatchNorm1d(3).train()
    x = torch.randn(8, 3)
    module = import_program(torch.export.export(net, (x,)))
    from support.aten_interpreter import Interpreter

    interpreter = Interpreter(module)
    (y,) = interpreter.run(x)
    torch.testing.assert_close(y, net(x))
    torch.testing.assert_close(interpreter.symbols["running_mean"], net.running_mean)
    torch.testing.assert_close(interpreter.symbols["num_batches_tracked"], net.num_batches_tracked)


def test_running_statistics_of_instance_norm():
    net = nn.InstanceNorm1d(3, track_running_stats=True).train()
    x = torch.randn(2, 3, 8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        module = import_program(torch.export.export(net, (x,)))
    from support.aten_interpreter import Interpreter

    interpreter = Interpreter(module)
    (y,) = interpreter.run(x)
    torch.testing.assert_close(y, net(x))
    torch.testing.assert_close(interpreter.symbols["running_var"], net.running_var)


def test_writes_in_no_grad_blocks():
    def function(net: Net, x: Tensor) -> Any:
        y = x.sin()
        with torch.no_grad():
            z = y * 2
            z.add_(1)
        return z

    run(function)


def test_autocast():
    def function(net: Net, x: Tensor) -> Any:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return (x @ x.T).float()

    module = import_program(torch.export.export(Net(function), (torch.randn(2, 3),)))
    assert "bf16" in str(module)


def input_written(net: Net, x: Tensor) -> Any:
    before = x * 2
    x.add_(1)
    return before, x, x * 2


def input_written_twice(net: Net, x: Tensor) -> Any:
    x.mul_(3).sub_(1)
    x.relu_()
    return x.sum()


def input_and_buffer(net: Net, x: Tensor) -> Any:
    net.a.copy_(x)
    x.copy_(net.a + 1)
    return net.a * 1


def input_through_view(net: Net, x: Tensor) -> Any:
    x[0].copy_(x[1])
    x.view(-1)[2:4].zero_()
    return None


def input_narrowed(net: Net, x: Tensor) -> Any:
    x.add_(x.to(torch.float64))
    return x * 1


def run_on_inputs(function: Any, *shapes: tuple[int, ...]) -> ModuleOp:
    """Import and compare with eager what is returned and what the inputs hold in the end."""
    from support.aten_interpreter import Interpreter
    from torch.utils._pytree import tree_leaves

    examples = tuple(torch.randn(shape) for shape in shapes)
    module = import_program(torch.export.export(Net(function).eval(), examples))
    module.verify()
    interpreter = Interpreter(module)
    given = [torch.randn(shape) for shape in shapes]
    eager = [value.clone() for value in given]
    want = [
        value.clone() if isinstance(value, Tensor) else value for value in tree_leaves(Net(function)(*eager))
    ]
    for mine, theirs in zip(interpreter.run(*given), want, strict=True):
        torch.testing.assert_close(mine, theirs)
    for index, (value, theirs) in enumerate(zip(given, eager, strict=True)):
        torch.testing.assert_close(interpreter.overwritten.get(index, value), theirs)
    return module


@pytest.mark.parametrize(
    "function",
    [input_written, input_written_twice, input_and_buffer, input_through_view, input_narrowed],
    ids=lambda f: f.__name__,
)
def test_written_inputs(function: Any):
    module = run_on_inputs(function, (2, 3))
    assert str(module).count("program.overwrite %x, ") == 1


def test_written_inputs_without_tracing(monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("traced again")

    monkeypatch.setattr(torch.export.ExportedProgram, "run_decompositions", refuse)
    run_on_inputs(input_written_twice, (2, 3))


class Pair(Net):
    """With two inputs."""

    def forward(self, x: Tensor, y: Tensor) -> Any:
        return self.function(self, x, y)


def test_inputs_that_swap():
    def function(net: Net, x: Tensor, y: Tensor) -> Any:
        old = x.clone()
        x.copy_(y)
        y.copy_(old)
        return x - y

    module = import_program(torch.export.export(Pair(function), (torch.ones(3), torch.zeros(3))))
    text = str(module)
    assert "program.overwrite %x, %y" in text
    assert "%0 = aten.clone %x" in text
    assert "program.overwrite %y, %0" in text


def test_the_same_input_given_twice():
    """Torch sees one tensor, and so does the program: the first input is not used."""

    def function(net: Net, x: Tensor, y: Tensor) -> Any:
        x.add_(y)
        return x * 1

    one = torch.ones(3)
    text = str(import_program(torch.export.export(Pair(function), (one, one))))
    assert "%x," not in text.split("{", 2)[2]
    assert "program.overwrite %y, " in text


def test_batch_norm_with_its_statistics_as_inputs():
    from support.aten_interpreter import Interpreter

    class Norm(nn.Module):
        def forward(self, x: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
            return nn.functional.batch_norm(x, mean, variance, training=True)

    x, mean, variance = torch.randn(4, 3), torch.zeros(3), torch.ones(3)
    module = import_program(torch.export.export(Norm(), (x, mean.clone(), variance.clone())))
    interpreter = Interpreter(module)
    (y,) = interpreter.run(x, mean, variance)
    torch.testing.assert_close(y, Norm()(x, mean, variance))
    torch.testing.assert_close(interpreter.overwritten[1], mean)
    torch.testing.assert_close(interpreter.overwritten[2], variance)


def test_a_buffer_that_becomes_another():
    """Torch's own trace makes one value of both, which its verifier refuses."""

    class Twins(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("a", torch.zeros(4))
            self.register_buffer("b", torch.ones(4))

        def forward(self, x: Tensor) -> Tensor:
            self.b[1:3].add_(x[:2])
            self.a.copy_(self.b)
            return self.a + x

    text = str(import_program(torch.export.export(Twins(), (torch.ones(4),))))
    assert "program.store @a" in text
    assert "program.store @b" in text


@pytest.mark.parametrize(
    "write",
    [
        lambda y: y.unfold(1, 2, 3)[0].neg_(),
        lambda y: y.unfold(1, 3, 3).neg_(),
        lambda y: y.unfold(1, 2, 3)[:, 1, 0].mul_(3),
    ],
)
def test_writes_to_windows_with_elements_between_them(write: Any):
    """Torch's functional form sets these elements to 0, by `unfold_inverse`."""

    def function(x: Tensor) -> Tensor:
        y = x * 1
        write(y)
        return y

    program = torch.export.export(Calls(function), (torch.ones(2, 8),))
    with warnings.catch_warnings(action="ignore"):  # of torch about itself
        traced = program.run_decompositions({}).module()(torch.ones(2, 8))
    assert not torch.equal(traced, function(torch.ones(2, 8)))
    with pytest.raises(UnsupportedProgram, match="between them to 0"):
        import_program(program)


def test_writes_to_windows_side_by_side():
    def function(x: Tensor) -> Tensor:
        y = x * 1
        y.unfold(1, 4, 4)[0].neg_()
        return y

    x = torch.arange(16.0).reshape(2, 8)
    file = to_edge(torch.export.export(Calls(function), (x,))).to_executorch().buffer
    (found,) = run_file(file, x)
    torch.testing.assert_close(found, function(x))
