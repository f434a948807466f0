"""Kernels that `in-place` lets write over an argument give the result that they give beside it, in every runtime.

Each kernel of a target's table is called beside each argument it may write over, and over it: in each element type that
torch takes it in, with a result of the argument's type, on a few elements with the others broadcast, and on more than
kernels take at a time. The results are also those of torch.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from stock import StockRuntime
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, Block, Region

from et_ir.dialects.edge import OP_BY_NAME
from et_ir.dialects.executorch import AllocOp, InputOp, KernelCallOp, ListKind, ListValue, PlanOp, ReturnOp
from et_ir.dialects.executorch.signatures import schema_of
from et_ir.dialects.schema.literals import ELEMENT_TYPES
from et_ir.driver.stages import run_pipeline
from et_ir.emit import write
from et_ir.targets.lookup import DEFAULT, find_target, replaceable_everywhere
from et_vm.runtime import Runtime

DTYPES = {
    "f32": torch.float32,
    "f64": torch.float64,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "i64": torch.int64,
    "i32": torch.int32,
    "i16": torch.int16,
    "i8": torch.int8,
    "ui8": torch.uint8,
    "i1": torch.bool,
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
SHAPES: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (
    ((3, 5), (5,)),
    ((2, 1), (2, 1)),
    ((4, 130, 71), (4, 130, 71)),
)
"""Of the argument that is written over, and of the others."""

LITERALS: dict[str, Any] = {
    "min": 0.2, "max": 0.7, "value": 1, "alpha": 2, "other": 3, "self": 3, "exponent": 2, "eps": None, "dim": -1,
    "half_to_float": False, "rounding_mode": "floor", "momentum": 0.1, "N": 0, "C": 0, "HxW": 0, "group": 1,
}  # fmt: skip
CHANNELS = {
    "aten::native_layer_norm.out": lambda shape: shape[-1:],
    "aten::native_group_norm.out": lambda shape: shape[1:2],
    "aten::_native_batch_norm_legit_no_training.out": lambda shape: shape[1:2],
}
"""Kernels whose other tensors have a shape of their own."""
TABLES = {"stock": DEFAULT, "portable": "et-vm", "aten": "et-vm-aten"}
TOLERANCES = {torch.float16: (2e-3, 2e-3), torch.bfloat16: (1.6e-2, 1e-2), torch.float32: (1e-4, 1e-5)}

ROUGH = dict.fromkeys(CHANNELS, (5e-2, 5e-2)) | {"aten::cumsum.out": (5e-2, 5e-2)}
"""Tolerances of sums: stock's normalisations add up in single precision, its running sum in the result's type."""
WRONG = {("stock", "aten::le.Tensor_out", torch.bool)}
"""Calls that are wrong out of place, too: stock swaps booleans of which the first is broadcast."""


@dataclass
class Case:
    """One call: the value of each argument, and what torch makes of them."""

    over: str
    arguments: dict[str, Any]
    expected: tuple[torch.Tensor, ...]


def random(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    values = torch.rand(shape) * 0.8 + 0.1
    if dtype.is_floating_point:
        return values.to(dtype)
    return values > 0.5 if dtype is torch.bool else (values * 6).to(dtype) + 1


def functional(operator: str) -> Any:
    """The operator of torch that an out variant belongs to."""
    for op in OP_BY_NAME.values():
        if op.operator.kernel == operator:
            packet, _, overload = op.name.removeprefix("edge.").partition(".")
            return getattr(getattr(torch.ops.aten, packet), overload or "default")
    raise AssertionError(f"no operator has the out variant {operator}")


def cases(operator: str, target: str) -> Iterator[Case]:
    """Calls of an operator with each of the arguments that it may write over."""
    schema = schema_of(operator)
    assert schema is not None
    declared = [arg for arg in schema.args if arg not in schema.out_args]
    torch_operator = functional(operator)
    refused = find_target(target).refused_types.get(operator, {})
    for over in sorted(find_target(target).in_place[operator]):
        for name, dtype in DTYPES.items():
            for shape, others in SHAPES:
                beside = CHANNELS[operator](shape) if operator in CHANNELS else others
                arguments: dict[str, Any] = {}
                for arg in declared:
                    if arg.type.is_tensor:
                        other = torch.bool if arg.name in ("mask", "condition") else dtype
                        taken = dtype if arg.name == over else other
                        size = shape if arg.name in (over, "source") else beside
                        arguments[arg.name] = random(size, taken)
                    elif arg.name == "normalized_shape":
                        arguments[arg.name] = list(shape[-1:])
                    elif operator == "aten::native_group_norm.out" and arg.name in ("N", "C", "HxW"):
                        sizes = {"N": shape[0], "C": shape[1], "HxW": shape[2] if len(shape) > 2 else 1}
                        arguments[arg.name] = sizes[arg.name]
                    else:
                        arguments[arg.name] = LITERALS.get(arg.name, arg.default)
                if arguments.get("eps", 0) is None and operator in CHANNELS:
                    arguments["eps"] = 1e-5
                # Torch's meta kernels of operators with a scalar reject another factor than 1.
                if "alpha" in arguments and (dtype is torch.bool or operator.endswith("Scalar_out")):
                    arguments["alpha"] = 1
                if any(name in refused.get(arg, ()) for arg in arguments):
                    continue
                try:
                    made = torch_operator(**arguments)
                except (RuntimeError, NotImplementedError):
                    continue  # torch does not compute in this type either
                made = made if isinstance(made, tuple) else (made,)
                if made[0].dtype is dtype and made[0].shape == shape:
                    yield Case(over, arguments, made)


def register_type(value: torch.Tensor) -> TensorType[Attribute]:
    return TensorType(ELEMENT_TYPES[NAMES[value.dtype]], list(value.shape))


def literal(value: Any) -> Any:
    return ListValue(ListKind.INTS, tuple(value)) if isinstance(value, list) else value


def program(operator: str, calls: list[Case]) -> tuple[bytes, list[torch.Tensor]]:
    """A file that makes each call beside its arguments and over one of them, and what its inputs are."""
    block, inputs, outputs = Block(), list[torch.Tensor](), list[Any]()
    declarations = list[Any]()
    for call in calls:
        given: dict[str, Any] = {}
        written = None
        for name, value in call.arguments.items():
            if not isinstance(value, torch.Tensor):
                given[name] = literal(value)
                continue
            source = InputOp(register_type(value))
            declarations.append(source)
            inputs.append(value)
            given[name] = source.result
            if name == call.over:
                # An input may not be written over; what is read from it may.
                written = AllocOp(source.result.type)
                copy = KernelCallOp("aten::clone.out", [source.result, None], outs=[written.result])
                block.add_ops([written, copy])
        assert written is not None
        for place in (None, written):
            outs = [AllocOp(register_type(value)) for value in call.expected]
            block.add_ops(outs if place is None else outs[1:])
            if place is not None:
                outs[0] = place
                given[call.over] = place.result
            results = [out.result for out in outs]
            block.add_op(KernelCallOp(operator, list(given.values()), outs=results))
            outputs.append(results[0])
    for declaration in reversed(declarations):
        assert block.first_op is not None
        block.insert_op_before(declaration, block.first_op)
    block.add_op(ReturnOp(outputs))
    module = ModuleOp([PlanOp("forward", Region(block))])
    run_pipeline(module, "plan-memory{algorithm=greedy check=true},link-check,verify-executorch")
    stream = io.BytesIO()
    write(module, stream)
    return stream.getvalue(), inputs


def same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return torch.equal(torch.nan_to_num(one.double()), torch.nan_to_num(other.double()))


@pytest.mark.slow
@pytest.mark.parametrize("runtime", TABLES)
def test_results_are_the_same(runtime: str, stock: StockRuntime, tmp_path: Path) -> None:
    torch.manual_seed(0)
    different: list[str] = []
    path = tmp_path / "calls.pte"
    for operator in sorted(find_target(TABLES[runtime]).in_place):
        calls = list(cases(operator, TABLES[runtime]))
        untried = find_target(TABLES[runtime]).in_place[operator].difference(call.over for call in calls)
        different += [f"{operator} over {name} has not been tried" for name in sorted(untried)]
        data, inputs = program(operator, calls)
        path.write_bytes(data)
        if runtime == "stock":
            results = stock.run(path, inputs)
        else:
            loaded = Runtime.get().load_program(path, kernels=runtime, poison=True)
            results = loaded.load_method("forward").execute(inputs)
        for number, call in enumerate(calls):
            beside, over_it = results[2 * number : 2 * number + 2]
            name = f"{operator} over {call.over}: {register_type(beside)}"
            if not same(beside, over_it):
                different.append(f"{name} differs")
            rtol, atol = ROUGH.get(operator) or TOLERANCES.get(beside.dtype, (1e-6, 1e-6))
            if (runtime, operator, beside.dtype) not in WRONG and not torch.allclose(
                over_it.double(), call.expected[0].double(), rtol, atol, equal_nan=True
            ):
                different.append(f"{name} is not torch's")
    assert not different, "\n".join(different)


def test_a_kernel_that_clears_its_result_first_is_not_in_the_table(
    stock: StockRuntime, tmp_path: Path
) -> None:
    """The failure that the runs above would detect."""
    value = random((3, 5), torch.float32)
    assert "aten::tril.out" in find_target(DEFAULT).not_in_place
    call = Case("self", {"self": value, "diagonal": 0}, (value.tril(),))
    path = tmp_path / "tril.pte"
    path.write_bytes(program("aten::tril.out", [call])[0])
    beside, over = stock.run(path, [value])
    assert same(beside, value.tril())
    assert not same(over, value.tril())


def test_every_kernel_of_stock_is_in_its_table() -> None:
    """With the arguments that it may write over, or the reason why there are none; prims have no tensors."""
    kernels = {name for name in find_target(DEFAULT).kernels if not name.startswith("executorch_prim::")}
    allowed, refused = find_target(DEFAULT).in_place, find_target(DEFAULT).not_in_place
    assert kernels == {*allowed, *refused}
    assert not allowed.keys() & refused.keys()
    assert all(refused.values())


def test_tables_are_about_kernels_that_there_are() -> None:
    for target in TABLES.values():
        assert find_target(target).in_place.keys() <= find_target(target).kernels
        for kernel, arguments in find_target(target).in_place.items():
            schema = schema_of(kernel)
            assert schema is not None
            assert arguments <= {arg.name for arg in schema.args if arg.type.is_tensor}
    assert "aten::add.out" in replaceable_everywhere()
    assert find_target(f"{DEFAULT}-quantized").in_place == find_target(DEFAULT).in_place
