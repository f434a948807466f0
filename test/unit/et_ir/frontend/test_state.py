"""Parameters, buffers and constants: names, sharing, no copies."""

from typing import Any

import pytest
import torch
from support.aten_interpreter import Interpreter
from torch import Tensor, nn
from xdsl.dialects.builtin import ModuleOp

from et_ir.dialects.program import BufferOp, GlobalOp
from et_ir.frontend import UnsupportedProgram, import_program


def symbols(module: ModuleOp) -> dict[str, GlobalOp]:
    return {op.key: op for op in module.body.block.ops if isinstance(op, GlobalOp)}


def kinds(module: ModuleOp) -> dict[str, str]:
    return {name: op.name.removeprefix("program.") for name, op in symbols(module).items()}


class Linear(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.register_buffer("kept", torch.ones(3))
        self.register_buffer("made", torch.ones(3), persistent=False)
        self.register_buffer("unused", torch.ones(3))

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(x) + self.kept + self.made


def test_names_and_kinds(imported: Any):
    assert kinds(imported(Linear(), (torch.randn(2, 3),))) == {
        "fc.weight": "parameter", "fc.bias": "parameter", "kept": "buffer", "made": "buffer",
    }  # fmt: skip


def test_weights_are_not_copied():
    net = Linear()
    module = import_program(torch.export.export(net, (torch.randn(2, 3),)))
    with torch.no_grad():
        net.fc.weight.fill_(7.0)
    data = symbols(module)["fc.weight"].value
    assert data is not None
    assert bytes(data.blob.view()) == net.fc.weight.detach().numpy().tobytes()


def test_tied_weights_are_one_symbol(imported: Any):
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(5, 3)
            self.head = nn.Linear(3, 5, bias=False)
            self.head.weight = self.embed.weight
            self.register_buffer("same", self.embed.weight.detach())

        def forward(self, i: Tensor) -> Tensor:
            return self.head(self.embed(i)) + self.same.sum()

    assert len(symbols(imported(Net(), (torch.tensor([1, 2]),)))) == 1


def test_parts_of_one_storage_are_different_symbols(imported: Any):
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            both = torch.arange(6.0)
            self.register_buffer("a", both[:3])
            self.register_buffer("b", both[3:])
            self.register_buffer("c", both.reshape(2, 3).T)

        def forward(self, x: Tensor) -> Tensor:
            return x + self.a * self.b + self.c.sum(1)

    assert set(symbols(imported(Net(), (torch.randn(3),)))) == {"a", "b", "c"}


def test_channels_last_weights(imported: Any):
    net = nn.Conv2d(2, 4, 3).to(memory_format=torch.channels_last)
    imported(net, (torch.randn(1, 2, 5, 5),))


def test_tensors_shared_by_name_and_content_are_one_symbol():
    programs = {name: torch.export.export(Linear(), (torch.randn(2, 3),)) for name in ("a", "b")}
    one, other = (p.state_dict["fc.weight"] for p in programs.values())
    assert one.data_ptr() != other.data_ptr()
    module = import_program(programs)
    assert set(symbols(module)) == {"fc.weight", "fc.bias", "kept", "made", "b.fc.weight", "b.fc.bias"}


def test_methods_of_one_module_share_everything():
    net = Linear()

    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = net

        def forward(self, x: Tensor) -> Tensor:
            return self.inner(self.inner(x))

    programs = {
        "once": torch.export.export(net, (torch.randn(2, 3),)),
        "twice": torch.export.export(Twice(), (torch.randn(2, 3),)),
    }
    module = import_program(programs)
    assert set(symbols(module)) == {"fc.weight", "fc.bias", "kept", "made"}
    x = torch.randn(2, 3)
    (y,) = Interpreter(module).run(x, method="twice")
    torch.testing.assert_close(y, net(net(x)))


class Counter(nn.Module):
    def __init__(self, start: float = 0.0) -> None:
        super().__init__()
        self.register_buffer("total", torch.full((2,), start))

    def forward(self, x: Tensor) -> Tensor:
        self.total.add_(x)
        return self.total * 2


class Reader(nn.Module):
    def __init__(self, counter: Counter) -> None:
        super().__init__()
        self.total = counter.total

    def forward(self) -> Tensor:
        return self.total + 0


def test_mutable_buffers_keep_state():
    module = import_program(torch.export.export(Counter(1.0), (torch.ones(2),)))
    total = symbols(module)["total"]
    assert isinstance(total, BufferOp)
    assert total.mutable is not None
    assert total.value is not None
    run = Interpreter(module).run
    assert [run(torch.ones(2))[0][0].item() for _ in range(3)] == [4.0, 6.0, 8.0]


def test_running_the_module_does_not_change_imported_state():
    counter = Counter(1.0)
    module = import_program(torch.export.export(counter, (torch.ones(2),)))
    counter(torch.ones(2))
    assert Interpreter(module).symbols["total"].tolist() == [1.0, 1.0]


def test_state_that_starts_as_zeros_has_no_data():
    module = import_program(torch.export.export(Counter(), (torch.ones(2),)))
    assert symbols(module)["total"].value is None


def test_negative_zero_is_not_zero():
    module = import_program(torch.export.export(Counter(-0.0), (torch.ones(2),)))
    assert symbols(module)["total"].value is not None


def test_methods_share_state():
    counter = Counter()
    module = import_program(
        {
            "step": torch.export.export(counter, (torch.ones(2),)),
            "read": torch.export.export(Reader(counter), ()),
        }
    )
    assert set(symbols(module)) == {"total"}
    assert "program.load @total" in str(module)
    assert "program.get" not in str(module)
    interpreter = Interpreter(module)
    interpreter.run(torch.ones(2), method="step")
    interpreter.run(torch.ones(2), method="step")
    assert interpreter.run(method="read")[0].tolist() == [2.0, 2.0]


def test_state_with_two_beginnings():
    programs = {
        "a": torch.export.export(Counter(1.0), (torch.ones(2),)),
        "b": torch.export.export(Counter(2.0), (torch.ones(2),)),
    }
    with pytest.raises(
        UnsupportedProgram, match="state of the methods a, b, which initialize it differently"
    ):
        import_program(programs)


def test_state_that_overlaps_other_memory():
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            both = torch.zeros(4)
            self.register_buffer("a", both[:2])
            self.register_buffer("b", both)

        def forward(self, x: Tensor) -> Tensor:
            self.a.copy_(x)
            return self.b + 1

    with pytest.raises(
        UnsupportedProgram, match='buffer "a": it is mutated and shares memory with buffer "b"'
    ):
        import_program(torch.export.export(Net(), (torch.ones(2),)))


def test_weights_without_data():
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        net, x = nn.Linear(2, 2), torch.randn(1, 2)
        program = torch.export.export(net, (x,))
    with pytest.raises(
        UnsupportedProgram, match=r'parameter "weight": it has no data\n.*materialize the module'
    ) as error:
        import_program(program)
    assert len(error.value.diagnostics) == 2
