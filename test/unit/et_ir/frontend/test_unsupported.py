"""One report with every reason, operator, source line and fix."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from et_ir.frontend import UnsupportedProgram, import_program


def reasons(module: nn.Module, *args: Any) -> UnsupportedProgram:
    program = torch.export.export(module, args)
    with pytest.raises(UnsupportedProgram) as error:
        import_program(program)
    return error.value


@torch.library.custom_op("et_test::counted", mutates_args=())
def counted(x: Tensor) -> tuple[Tensor, int]:
    return torch.from_numpy(x.numpy() * 2), 1


@counted.register_fake
def _(x: Tensor) -> tuple[Tensor, int]:
    return torch.empty_like(x), 1


@torch.library.custom_op("et_test::thrice", mutates_args=())
def thrice(x: Tensor) -> Tensor:
    return x * 3


@thrice.register_fake
def _(x: Tensor) -> Tensor:
    return torch.empty_like(x)


class Everything(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Inner()

    def forward(self, x: Tensor) -> Any:
        y = self.inner(x)
        return y + 1, x.to(torch.float8_e5m2)


class Inner(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y = torch.ops.et_test.counted(x)[0]
        return y - 1


def test_every_reason_at_once():
    error = reasons(Everything(), torch.randn(2))
    assert [reason.subject for reason in error.diagnostics] == [
        "et_test.counted",
        "aten.to.dtype",
    ]
    text = str(error)
    assert text.startswith("the exported program is not supported (2 places)\n")
    assert "test_unsupported.py:" in text
    assert " in inner: 'et_test.counted': it returns a value of type SymInt, not a tensor" in text
    assert text.count("fix: ") == 2


def test_what_depends_on_it_is_not_reported():
    class Net(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            y = torch.ops.et_test.counted(x)[0]
            return (y + 1).relu() * y

    assert len(reasons(Net(), torch.randn(2)).diagnostics) == 1


def test_equal_reasons_count_once():
    class Net(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            for _ in range(3):
                x = torch.ops.et_test.counted(x + 1)[0]
            return x

    error = reasons(Net(), torch.randn(2))
    assert len(error.diagnostics) == 1


def test_inputs_of_other_dtypes():
    class Net(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.view(torch.int16)

    error = reasons(Net(), torch.ones(2, dtype=torch.uint16))
    assert str(error.diagnostics[0]).startswith(
        'input "x" of method forward: tensors of dtype uint16 are not supported'
    )


def test_sparse_tensors():
    class Net(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.to_sparse().to_dense()

    error = reasons(Net(), torch.eye(2))
    assert any("layout sparse_coo" in reason.message for reason in error.diagnostics)
    assert any("to_dense()" in reason.fix for reason in error.diagnostics)


def test_other_sizes_in_place():
    class Net(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.clone().resize_(8)

    (reason,) = reasons(Net(), torch.ones(4)).diagnostics
    assert reason.message == "it resizes a tensor in place"
    assert "slice or pad" in reason.fix


def test_strided_reads_of_other_memory():
    class Inside(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.as_strided((2, 2), (1, 2), 1)

    class Outside(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x[:2].as_strided((4,), (1,))

    x = torch.arange(8.0)
    module = import_program(torch.export.export(Inside(), (x,)))
    from support.aten_interpreter import Interpreter

    assert torch.equal(Interpreter(module).run(x)[0], Inside()(x))
    assert (
        reasons(Outside(), x).diagnostics[0].message.startswith("it addresses memory outside of its operand")
    )
    transposed = torch.arange(8.0).reshape(2, 4).T
    assert len(reasons(Inside(), transposed).diagnostics) == 1


def test_dynamic_sizes_in_arithmetic():
    class Net(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x * round(x.shape[0] * 0.3, 1)

    program = torch.export.export(Net(), (torch.randn(3),), dynamic_shapes=({0: torch.export.Dim("n")},))
    with pytest.raises(UnsupportedProgram, match="arithmetic on dynamic sizes") as error:
        import_program(program)
    assert "export with static shapes" in str(error.value)


def test_dynamic_sizes_that_are_only_passed_on():
    class Net(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return torch.cat([x, x.new_zeros(x.shape[0], 3)], dim=1).relu_()

    program = torch.export.export(Net(), (torch.randn(3, 4),), dynamic_shapes=({0: torch.export.Dim("n")},))
    module = import_program(program)
    module.verify()
    assert "tensor<?x4xf32, #program.sizes<s77>>" in str(module)
    from support.aten_interpreter import Interpreter

    x = torch.randn(5, 4)
    assert torch.equal(Interpreter(module).run(x)[0], Net()(x))


def test_custom_operators_made_of_torch_operators():
    class Net(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return torch.ops.et_test.thrice(x) + 1

    module = import_program(torch.export.export(Net(), (torch.randn(2),)))
    assert [op.name for op in module.walk() if op.name.startswith("aten.")] == [
        "aten.mul.Tensor",
        "aten.add.Tensor",
    ]


def test_sizes_that_depend_on_data():
    class Net(nn.Module):
        def forward(self, x: Tensor) -> Any:
            return torch.nonzero(x) * 2, x[x > 0]

    from support.aten_interpreter import Interpreter

    module = import_program(torch.export.export(Net(), (torch.randn(3, 4),)))
    module.verify()
    assert "tensor<?x2xi64, #program.sizes<u0>>" in str(module)
    assert "assert" not in str(module)
    x = torch.randn(3, 4)
    for got, want in zip(Interpreter(module).run(x), Net()(x), strict=True):
        assert torch.equal(got, want)


def test_operators_that_only_decompose():
    """An operator that the dialect lacks is imported as what it comes down to, at its own place in the source."""

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lines = nn.CosineEmbeddingLoss()

        def forward(self, x: Tensor, y: Tensor) -> Any:
            return (
                self.lines(x, y, torch.ones(2)),
                torch.special.xlog1py(x, y),
                torch.nn.functional.huber_loss(x, y),
            )

    from support.aten_interpreter import Interpreter

    from et_ir.locations import module_path

    args = (torch.rand(2, 3), torch.rand(2, 3))
    module = import_program(torch.export.export(Net(), args))
    module.verify()
    for got, want in zip(Interpreter(module).run(*args), Net()(*args), strict=True):
        torch.testing.assert_close(got, want)
    paths = {module_path(op.location) for op in module.walk() if op.name.startswith("aten.")}
    assert "lines" in paths


def test_python_functions_are_not_called_arithmetic():
    class Net(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x + 1

    program = torch.export.export(Net(), (torch.randn(4),))
    (added,) = [node for node in program.graph.nodes if node.op == "call_function"]
    added.target = len
    with pytest.raises(UnsupportedProgram) as caught:
        import_program(program)
    text = str(caught.value)
    assert "calls the Python function len, which is not an operator" in text
    assert "arithmetic" not in text


def test_numbers_that_the_caller_chooses():
    class Net(nn.Module):
        def forward(self, x: Tensor, n: int) -> Tensor:
            return x[:n] * n

    shapes = {"x": None, "n": torch.export.Dim.DYNAMIC}
    with pytest.raises(
        UnsupportedProgram, match='input "n" of method forward: runtimes do not accept variable scalar inputs'
    ):
        import_program(torch.export.export(Net(), (torch.ones(8), 3), dynamic_shapes=shapes))
