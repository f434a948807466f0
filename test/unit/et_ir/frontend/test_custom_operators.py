"""Operators of a library of one's own: kept whole, compiled as what they call, or refused."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim, export
from torch.library import custom_op
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from et_ir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge
from et_ir.dialects.program import DeclareOperatorOp
from et_ir.frontend import UnsupportedProgram, import_program
from et_vm import KernelRegistry, kernel, kernels_of
from et_vm.kernels.libraries import load_library
from et_vm.runtime import Runtime

LIBRARY = torch.library.Library("et_ops", "FRAGMENT")


def define(*schemas: str) -> None:
    for schema in schemas:
        LIBRARY.define(schema)


define(
    "scale(Tensor x, float by=2.0) -> Tensor",
    "scale.out(Tensor x, float by=2.0, *, Tensor(a!) out) -> Tensor(a!)",
    "flat(Tensor x, SymInt[] n) -> Tensor",
    "flat_out(Tensor x, SymInt[] n, *, Tensor(a!) out) -> ()",
    "named(Tensor x) -> Tensor",
    "written_elsewhere(Tensor x, *, Tensor(a!) result) -> ()",
    "wrong(Tensor x, int n) -> Tensor",
    "wrong.out(Tensor x, float n, *, Tensor(a!) out) -> Tensor(a!)",
    "bump(Tensor x, int n) -> Tensor",
    "bump.out(Tensor x, int n, *, Tensor(a!) out) -> Tensor(a!)",
    "bump_(Tensor(a!) x, int n) -> Tensor(a!)",
    "padded(Tensor x, SymInt rows, SymInt[] more) -> Tensor",
    "padded.out(Tensor x, SymInt rows, SymInt[] more, *, Tensor(a!) out) -> Tensor(a!)",
    "pieces(Tensor x) -> Tensor[]",
    "pieces.out(Tensor x, *, Tensor(a!)[] out) -> ()",
)
for name in ("scale", "flat", "named", "wrong", "bump"):
    LIBRARY._register_fake(name, lambda x, *_, **__: torch.empty_like(x))
LIBRARY._register_fake("bump_", lambda x, n: x)
LIBRARY._register_fake("padded", lambda x, rows, more: x.new_empty(rows + more[0], x.shape[1]))
LIBRARY._register_fake("pieces", lambda x: [torch.empty_like(x[:1]), torch.empty_like(x[1:])])


@custom_op("et_ops::opaque", mutates_args=())
def opaque(x: Tensor) -> Tensor:
    return torch.from_numpy(x.numpy() * 2)


opaque.register_fake(torch.empty_like)


@custom_op("et_ops::plain", mutates_args=())
def plain(x: Tensor) -> Tensor:
    return x * 3


plain.register_fake(torch.empty_like)


@custom_op("et_ops::around", mutates_args=())
def around(x: Tensor) -> Tensor:
    return torch.ops.et_ops.scale(x) + 1


around.register_fake(torch.empty_like)


@custom_op("et_ops::twice_", mutates_args=("x",))
def twice_in_place(x: Tensor) -> None:
    x.mul_(2)


define("twice(Tensor x) -> Tensor", "twice.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)")
LIBRARY._register_fake("twice", torch.empty_like)


@custom_op("et_ops::bump_in_place", mutates_args=("x",))
def bump_in_place(x: Tensor, n: int) -> None:
    x.add_(n)


def net(function: Any) -> nn.Module:
    class Net(nn.Module):
        def forward(self, *args: Tensor) -> Any:
            return function(*args)

    return Net()


def imported(function: Any, *args: Tensor, preserve: tuple[str, ...] = ()) -> ModuleOp:
    module = import_program(export(net(function), args), preserve=preserve)
    module.verify()
    return module


def ops_of(module: ModuleOp) -> list[str]:
    return [op.name for op in module.walk() if op.name.startswith("aten.")]


def declared(module: ModuleOp) -> list[tuple[str, str]]:
    return [(op.schema.data, op.out_schema) for op in module.ops if isinstance(op, DeclareOperatorOp)]


X = torch.arange(6.0).reshape(2, 3)
ET = torch.ops.et_ops


class TestWhatIsKept:
    def test_one_with_an_out_variant(self):
        module = imported(lambda x: ET.scale(ET.scale(x), 3.0), X)
        assert ops_of(module) == ["aten.et_ops.scale"] * 2
        assert declared(module) == [
            (
                "et_ops::scale(Tensor x, float by=2.) -> Tensor",
                "et_ops::scale.out(Tensor x, float by=2., *, Tensor(a!) out) -> Tensor(a!)",
            )
        ]
        assert re.search(r"aten.et_ops.scale %\w+ : tensor", str(module))
        assert "{by = 3.0}" in str(module)

    def test_one_called_after_it(self):
        module = imported(lambda x: ET.flat(x, [1, 2]), X)
        assert declared(module)[0][1] == "et_ops::flat_out(Tensor x, SymInt[] n, *, Tensor(a!) out) -> ()"

    def test_one_that_is_registered_as_it(self):
        from torch._library._out_variant import register_out_variant

        register_out_variant(ET.named.default, ET.written_elsewhere.default)
        module = imported(lambda x: ET.named(x), X)
        assert declared(module)[0][1] == "et_ops::written_elsewhere(Tensor x, *, Tensor(a!) result) -> ()"

    def test_a_list_of_results(self):
        module = imported(lambda x: ET.pieces(x)[1] + 1, X)
        assert "(tensor<2x3xf32>) -> (tensor<1x3xf32>, tensor<1x3xf32>)" in str(module)

    def test_one_inside_of_another(self):
        assert ops_of(imported(around, X)) == ["aten.et_ops.scale", "aten.add.Tensor"]

    def test_one_without_that_does_not_decompose(self):
        module = imported(lambda x: opaque(x) + 1, X)
        assert ops_of(module) == ["aten.et_ops.opaque", "aten.add.Tensor"]
        assert declared(module) == [("et_ops::opaque(Tensor x) -> Tensor", "")]

    def test_one_that_decomposes_if_asked_for(self):
        assert ops_of(imported(plain, X)) == ["aten.mul.Tensor"]
        assert ops_of(imported(plain, X, preserve=("et_ops::plain",))) == ["aten.et_ops.plain"]
        assert ops_of(imported(plain, X, preserve=("et_ops.plain",))) == ["aten.et_ops.plain"]

    def test_sizes_known_at_run_time(self):
        program = export(net(lambda x: ET.scale(x)), (X,), dynamic_shapes=(({0: Dim("n", max=8)},),))
        text = str(import_program(program))
        assert re.search(r"aten.et_ops.scale %\w+ : tensor<\?x3xf32, #program.sizes<s\d+>>", text)
        assert text.count("to 8") == 1  # of the symbol that both have

    def test_in_a_branch(self):
        def branch(x: Tensor) -> Tensor:
            return torch.cond(x.sum() > 0, lambda t: ET.scale(t), lambda t: t + 1, (x,))

        module = imported(branch, X)
        assert "aten.et_ops.scale" in ops_of(module)
        assert len(declared(module)) == 1


class TestWritesInPlace:
    def test_one_with_a_functional_form(self):
        module = imported(lambda x: ET.bump_(x + 1, 2) * 2, X)
        assert ops_of(module) == ["aten.add.Tensor", "aten.et_ops.bump", "aten.mul.Tensor"]

    def test_one_that_returns_nothing(self):
        def written(x: Tensor) -> Tensor:
            y = x + 1
            twice_in_place(y)
            return y * 3

        module = imported(written, X)
        assert ops_of(module) == ["aten.add.Tensor", "aten.et_ops.twice", "aten.mul.Tensor"]
        (add, twice, mul) = [op for op in module.walk() if op.name.startswith("aten.")]
        assert twice.operands[0] is add.results[0]
        assert mul.operands[0] is twice.results[0]

    def test_one_on_state(self):
        class Net(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.register_buffer("total", torch.ones(2, 3))

            def forward(self, x: Tensor) -> Tensor:
                twice_in_place(self.total)
                return self.total + x

        text = str(import_program(export(Net(), (X,))))
        assert re.search(r"%(\d+) = aten.et_ops.twice %total.*program.store @total, %\1 :", text, re.S)

    def test_a_tensor_that_others_see(self):
        def written(x: Tensor) -> Any:
            y = x + 1
            part = y[:, :2]
            twice_in_place(y)
            return part, y

        module = imported(written, X)
        assert ops_of(module) == ["aten.add.Tensor", "aten.et_ops.twice", "aten.slice.Tensor"]

    def test_a_slice(self):
        def written(x: Tensor) -> Tensor:
            y = x + 1
            twice_in_place(y[:, :2])
            return y

        module = imported(written, X)
        assert ops_of(module) == [
            "aten.add.Tensor",
            "aten.slice.Tensor",
            "aten.et_ops.twice",
            "aten.slice_scatter",
        ]

    def test_another_view(self):
        def written(x: Tensor) -> Tensor:
            y = x + 1
            twice_in_place(y.t())
            return y

        with pytest.raises(UnsupportedProgram) as caught:
            imported(written, X)
        (reason,) = caught.value.diagnostics
        assert reason.subject == "et_ops.twice_"
        assert reason.message == "it writes through a view that is not a slice"
        assert reason.fix == "write the new value: view.copy_(torch.ops.et_ops.twice(view, …))"

    def test_one_without(self):
        def written(x: Tensor) -> Tensor:
            y = x + 1
            bump_in_place(y, 2)
            return y

        with pytest.raises(UnsupportedProgram) as caught:
            imported(written, X)
        (reason,) = caught.value.diagnostics
        assert reason.subject == "et_ops.bump_in_place"
        assert reason.message.startswith("it writes to its argument 'x'")
        assert "x.copy_(torch.ops.et_ops.bump_in_place_new(…))" in reason.fix
        assert "test_custom_operators.py" in str(reason)


class TestRefusals:
    def test_an_out_variant_that_does_not_fit(self):
        with pytest.raises(UnsupportedProgram) as caught:
            imported(lambda x: ET.wrong(x, 2), X)
        (reason,) = caught.value.diagnostics
        assert "et_ops::wrong.out is none: its argument 'float n' is 'int n' there" in reason.message
        assert (
            'define("et_ops::wrong.out", "(Tensor x, int n, *, Tensor(a!) out) -> Tensor(a!)")' in reason.fix
        )

    def test_an_operator_to_preserve_that_there_is_not(self):
        with pytest.raises(ValueError, match="unknown operator et_ops::plane"):
            imported(plain, X, preserve=("et_ops::plane",))
        with pytest.raises(ValueError, match="unknown operator et_ops::plane"):
            to_edge(
                export(net(plain), (X,)), compile_config=EdgeCompileConfig(preserve_ops=["et_ops::plane"])
            )


@kernel("et_ops::scale.out", shape=lambda x, by: x.shape)
def scale_out(x: Any, by: float, *, out: Any) -> None:
    out[...] = x * by


@kernel("et_ops::pieces.out", shape=lambda x: [(1, x.shape[1]), (x.shape[0] - 1, x.shape[1])])
def pieces_out(x: Any, *, out: list[Any]) -> None:
    out[0][...], out[1][...] = x[:1], x[1:]


@kernel("et_ops::padded.out", shape=lambda x, rows, more: (rows + more[0], x.shape[1]))
def padded_out(x: Any, rows: int, more: list[int], *, out: Any) -> None:
    out[...] = more[1]
    out[: x.shape[0]] = x


def registry() -> KernelRegistry:
    import sys

    return load_library("portable", [kernels_of(sys.modules[__name__])])


class TestTheWholeRoad:
    CONFIG = ExecutorchBackendConfig(
        target="et-vm", extra_operators=("et_ops::scale.out", "et_ops::pieces.out", "et_ops::padded.out")
    )

    def run(self, function: Any, *args: Tensor, dynamic: Any = None, poison: bool = True) -> list[Any]:
        edge = to_edge(export(net(function), args, dynamic_shapes=dynamic))
        buffer = edge.to_executorch(self.CONFIG).buffer
        program = Runtime().load_program(buffer, kernels=registry(), poison=poison)
        return program.load_method("forward").execute(list(args))

    def test_values(self):
        got = self.run(lambda x: (ET.scale(x, 3.0) + 1, torch.relu(ET.scale(x))), X)
        assert torch.equal(got[0], X * 3 + 1)
        assert torch.equal(got[1], X * 2)

    def test_lists(self):
        got = self.run(lambda x: [piece + 1 for piece in ET.pieces(x)], X)
        assert torch.equal(torch.cat(got), X + 1)

    def test_sizes_known_at_run_time(self):
        got = self.run(lambda x: ET.scale(x).sum(dim=1), X, dynamic=(({0: Dim("n", max=8)},),))
        assert torch.equal(got[0], (X * 2).sum(dim=1))

    def test_arguments_known_at_run_time(self):
        def padded(x: Tensor) -> Tensor:
            return ET.padded(x, x.shape[0], [x.shape[0], 7]) + 1

        got = self.run(padded, X, dynamic=(({0: Dim("n", min=2, max=8)},),))
        assert torch.equal(got[0], torch.cat([X, torch.full((2, 3), 7.0)]) + 1)

    @pytest.mark.parametrize("sign", [1.0, -1.0])
    def test_in_branches(self, sign: float):
        def branch(x: Tensor) -> Tensor:
            return torch.cond(x.sum() > 0, lambda t: ET.scale(t), lambda t: ET.scale(t, 3.0) + 1, (x,))

        x = X * sign
        got = self.run(branch, x)
        assert torch.equal(got[0], x * 2 if sign > 0 else x * 3 + 1)

    def test_channels_last_operands(self):
        """A kernel that nothing is known of gets contiguous tensors."""
        torch.manual_seed(0)
        conv = nn.Conv2d(3, 4, 3).to(memory_format=torch.channels_last)
        x = torch.randn(1, 3, 5, 5).to(memory_format=torch.channels_last)
        got = self.run(lambda x: torch.relu(ET.scale(torch.relu(conv(x)))), x)
        torch.testing.assert_close(got[0].contiguous(), torch.relu(conv(x)).detach().contiguous() * 2)

    def test_state(self):
        class Net(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.register_buffer("total", torch.ones(2, 3))

            def forward(self, x: Tensor) -> Tensor:
                self.total.copy_(ET.scale(self.total + x))
                return self.total + 0

        edge = to_edge(export(Net(), (X,)))
        method = Runtime().load_program(edge.to_executorch(self.CONFIG).buffer, kernels=registry())
        forward = method.load_method("forward")
        first = (torch.ones(2, 3) + X) * 2
        assert torch.equal(forward.execute([X])[0], first)
        assert torch.equal(forward.execute([X])[0], (first + X) * 2)

    def test_a_target_without_the_kernel(self):
        edge = to_edge(export(net(lambda x: ET.scale(x)), (X,)))
        with pytest.raises(PassFailedException, match=r"scale.out': it is a custom operator"):
            edge.to_executorch()

    def test_operators_without_out_variants_are_named_at_once(self):
        edge = to_edge(export(net(lambda x: opaque(opaque(x) + 1)), (X,)))
        with pytest.raises(PassFailedException) as caught:
            edge.to_executorch()
        assert str(caught.value).count('torch.library.define("et_ops::opaque.out"') == 2
        assert str(caught.value).count("test_custom_operators.py:") == 2

    def test_an_operator_object_to_preserve(self):
        config = EdgeCompileConfig(preserve_ops=[ET.plain.default, torch.ops.aten.linear.default])
        edge = to_edge(export(net(plain), (X,)), compile_config=config)
        assert "edge.et_ops.plain" in str(edge.module)
