"""Inputs and outputs: nested structures, keyword arguments, constants, what is passed through."""

import io
import json
import warnings
from typing import Any, NamedTuple

import pytest
import torch
from support.aten_interpreter import Interpreter
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves
from xdsl.dialects.builtin import (
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    ModuleOp,
    NoneType,
    StringAttr,
    f64,
    i1,
    i64,
)
from xdsl.dialects.func import FuncOp

from et_ir.dialects.program import GlobalOp, StringType, TreeAttr
from et_ir.frontend import UnsupportedProgram, import_program


def function(module: ModuleOp, name: str = "forward") -> FuncOp:
    return next(op for op in module.body.block.ops if isinstance(op, FuncOp) and op.sym_name.data == name)


def argument_attributes(module: ModuleOp) -> list[dict[str, Any]]:
    attributes = function(module).arg_attrs
    assert attributes is not None
    return [dict(entry.data) for entry in attributes]


def test_nested_inputs_and_outputs(imported: Any):
    class Net(nn.Module):
        def forward(self, a: tuple[Tensor, list[Tensor]], d: dict[str, Tensor], *, last: Tensor) -> Any:
            x, (y, z) = a
            return {"sum": x + y, "rest": [(d["p"] * z,), last - x]}, d["q"] + 1

    t = torch.randn
    module = imported(Net(), ((t(2), [t(2), t(2)]), {"p": t(2), "q": t(2)}), {"last": t(2)})
    method = function(module)
    assert len(method.function_type.inputs) == 6
    assert len(method.function_type.outputs) == 4
    for name in ("in_spec", "out_spec"):
        spec = method.attributes[f"program.{name}"]
        assert isinstance(spec, TreeAttr)
        assert json.loads(spec.data)[0] == 1
    names = [entry["program.name"].data for entry in argument_attributes(module)]
    assert names == ["a_0", "a_1_0", "a_1_1", "d_p", "d_q", "last"]


def test_named_tuples(imported: Any):
    class Pair(NamedTuple):
        left: Tensor
        right: Tensor

    class Net(nn.Module):
        def forward(self, x: Tensor) -> Any:
            return x.max(dim=0), Pair(x, x + 1), {"k": x.sort()}

    module = imported(Net(), (torch.randn(2, 3),))
    spec = function(module).attributes["program.out_spec"]
    assert isinstance(spec, TreeAttr)
    children = json.loads(spec.data)[1]["children_spec"]
    assert [child["type"] for child in children] == ["builtins.tuple", "builtins.tuple", "builtins.dict"]
    assert children[2]["children_spec"][0]["type"] == "builtins.tuple"


def test_containers_without_a_name():
    class Box:
        def __init__(self, x: Tensor) -> None:
            self.x = x

    torch.utils._pytree.register_pytree_node(Box, lambda b: ([b.x], None), lambda xs, _: Box(*xs))

    class Net(nn.Module):
        def forward(self, x: Tensor) -> Any:
            return Box(x + 1)

    program = torch.export.export(Net(), (torch.randn(2),))
    with pytest.raises(
        UnsupportedProgram, match="out_spec of method forward: its structure cannot be serialized"
    ):
        import_program(program)


def test_constant_inputs(imported: Any):
    class Net(nn.Module):
        def forward(self, x: Tensor, n: int, f: float, b: bool, s: str, none: None, *, k: int = 2) -> Tensor:
            return x * n + f if b and s == "go" and none is None else x * k

    module = imported(Net(), (torch.randn(2), 3, 0.5, True, "go", None), {"k": 7})
    types = function(module).function_type.inputs.data[1:]
    assert types == (i64, f64, i1, StringType(), NoneType(), i64)
    values = [entry["program.value"] for entry in argument_attributes(module)[1:]]
    assert values == [
        IntegerAttr(3, i64), FloatAttr(0.5, f64), IntegerAttr(1, i1), StringAttr("go"), NoneType(), IntegerAttr(7, i64),
    ]  # fmt: skip
    assert "program.value" not in argument_attributes(module)[0]


def test_constant_outputs(imported: Any):
    class Net(nn.Module):
        def forward(self, x: Tensor) -> Any:
            return [x + 1, None, 3, 2.5, True, "text"]

    module = imported(Net(), (torch.randn(2),))
    assert function(module).function_type.outputs.data[1:] == (NoneType(), i64, f64, i1, StringType())


def test_inputs_weights_and_duplicates_as_outputs(imported: Any):
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = nn.Parameter(torch.ones(2))
            self.register_buffer("b", torch.zeros(2))

        def forward(self, x: Tensor) -> Any:
            y = x + 1
            return x, y, y, self.w, self.b

    imported(Net(), (torch.randn(2),))


def test_no_inputs(imported: Any):
    class Net(nn.Module):
        def forward(self) -> Tensor:
            return torch.arange(3) * 2

    imported(Net(), ())


def test_numbers_in_tensor_slots_are_literals(imported: Any):
    class Net(nn.Module):
        def forward(self, x: Tensor) -> Any:
            return x * 2, x + 0.5, x / True

    module = imported(Net(), (torch.randn(3),))
    assert str(module).count("program.literal") == 3


def test_multiple_results(imported: Any):
    class Net(nn.Module):
        def forward(self, x: Tensor) -> Any:
            value, index = x.max(dim=1)
            first, *rest = x.split([1, 2, 1], dim=1)
            a, b = x.unbind(0)
            return value, index, first, rest[1], a + b, torch.topk(x, 2)[1]

    imported(Net(), (torch.randn(2, 4),))


def test_optional_and_list_arguments(imported: Any):
    class Net(nn.Module):
        def forward(self, x: Tensor, i: Tensor) -> Any:
            return (
                torch.cat([x, x[:, :1]], 1), x[:, i], x[i, :, None], x.clamp(max=0.5), x.std(dim=(0, 1), correction=0),
                torch.nn.functional.layer_norm(x, (3,)), x.to(torch.float16), x.new_full((2,), True, dtype=torch.bool),
                torch.nn.functional.pad(x, (1, 2), value=-1.0),
                x.to(torch.float64, memory_format=torch.contiguous_format),
            )  # fmt: skip

    imported(Net(), (torch.randn(2, 3), torch.tensor([1, 0, 1])))


@pytest.mark.parametrize(
    "dtype", [torch.uint8, torch.int8, torch.int16, torch.int32, torch.float16, torch.bfloat16]
)
def test_dtypes(imported: Any, dtype: torch.dtype):
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("b", torch.tensor([1, 2], dtype=dtype))

        def forward(self, x: Tensor) -> Tensor:
            return x + self.b

    imported(Net(), (torch.tensor([3, 4], dtype=dtype),))


def test_tensor_literals_are_constants(imported: Any):
    class Net(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x + torch.tensor([1.0, 2.0]) * torch.tensor(3)

    module = imported(Net(), (torch.randn(2),))
    kinds = [op.name for op in module.body.block.ops if isinstance(op, GlobalOp)]
    assert kinds == ["program.constant", "program.constant"]


def test_layout_of_inputs():
    class Net(nn.Module):
        def forward(self, x: Tensor, y: Tensor, z: Tensor) -> Tensor:
            return x.sum() + y.sum() + z.sum()

    image = torch.randn(1, 3, 4, 4)
    # Strides of size-1 dimensions say nothing: this one is contiguous.
    mask = torch.ones(64).as_strided((1, 1, 8, 8), (64, 1, 8, 1))
    inputs = (image.to(memory_format=torch.channels_last), image, mask)
    module = import_program(torch.export.export(Net(), inputs))
    orders = [entry.get("program.dim_order") for entry in argument_attributes(module)]
    assert isinstance(orders[0], DenseArrayBase)
    assert orders[0].get_values() == (0, 2, 3, 1)
    assert orders[1:] == [None, None]


def test_methods_are_functions_of_one_module():
    class Net(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x + 1

    program = torch.export.export(Net(), (torch.randn(2),))
    module = import_program({"encode": program, "decode": program})
    assert [op.sym_name.data for op in module.body.block.ops if isinstance(op, FuncOp)] == [
        "encode",
        "decode",
    ]


def test_no_grad_blocks_are_inlined(imported: Any):
    class Net(nn.Module):
        def forward(self, x: Tensor) -> Any:
            y = x.sin()
            with torch.no_grad():
                z = y * 2
                w = z + x
            return z.cos(), w

    module = imported(Net(), (torch.randn(2),))
    assert "mul.Tensor" in str(module)


def test_checks_of_metadata_are_dropped(imported: Any):
    class Net(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.to(torch.bool)

    module = imported(Net(), (torch.randn(2),))
    assert "_assert_tensor_metadata" not in str(module)


def test_devices_and_pinning_are_dropped():
    class Net(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return torch.zeros(2, device=x.device) + torch.ones_like(x, pin_memory=False)

    text = str(import_program(torch.export.export(Net(), (torch.randn(2),))))
    assert "device" not in text
    assert "pin_memory" not in text


@pytest.mark.parametrize("strict", [False, True])
def test_saved_and_functional_programs(strict: bool):
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(4, 4)
            self.relu = nn.ReLU(inplace=True)
            self.register_buffer("n", torch.zeros(4))

        def forward(self, x: Tensor, k: int, *, rest: list[Tensor]) -> Any:
            self.n.add_(1)
            return {"y": self.relu(self.fc(x) * k) + self.n, "rest": (None, k, rest[0])}

    args, kwargs = (torch.randn(2, 4), 5), {"rest": [torch.randn(1)]}
    net = Net().eval()
    want = tree_leaves(net(*args, **kwargs))
    net.n.zero_()
    program = torch.export.export(net, args, kwargs, strict=strict)
    file = io.BytesIO()
    with warnings.catch_warnings():
        # Torch warns here of its own use of what it has deprecated.
        warnings.simplefilter("ignore", FutureWarning)
        torch.export.save(program, file)
        file.seek(0)
        variants = [
            program,
            torch.export.load(file),
            program.run_decompositions({}),
            program.run_decompositions(),
        ]
    for variant in variants:
        module = import_program(variant)
        module.verify()
        got = Interpreter(module).run(*tree_leaves((args, kwargs)))
        assert got[1:3] == want[1:3] == [None, 5]
        torch.testing.assert_close(got[0], want[0])
        torch.testing.assert_close(got[3], want[3])


def test_what_is_no_program():
    with pytest.raises(TypeError, match=r"method forward is a Linear, expected an ExportedProgram"):
        import_program(nn.Linear(2, 2))  # pyright: ignore[reportArgumentType]
