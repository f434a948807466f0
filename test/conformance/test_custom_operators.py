"""Operators of a user's own, against the stock toolchain: the calls in our files are those in its files, its files run
on our VM with kernels of a user's own, and its runtime names what it has no kernel for.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from stock import StockError, StockRuntime
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram, export
from xdsl.utils.exceptions import PassFailedException

from et_ir import ExecutorchBackendConfig, raise_program, to_edge
from et_schema.program import KernelCall
from et_schema.pte import read_pte
from et_vm import KernelRegistry, kernel, kernels_of
from et_vm.kernels.libraries import load_library
from et_vm.runtime import Runtime

LIBRARY = torch.library.Library("et_stock", "DEF")
for schema in (
    "scale(Tensor x, float by, *, int times=1) -> Tensor",
    "scale.out(Tensor x, float by, *, int times=1, Tensor(a!) out) -> Tensor(a!)",
    # The stock compiler cannot read these two: its own parser of schemas has no lists of such defaults.
    "named(Tensor x, *, int[] sizes=[1, 2], str? mode=None) -> Tensor",
    "named.out(Tensor x, *, int[] sizes=[1, 2], str? mode=None, Tensor(a!) out) -> Tensor(a!)",
    "ends(Tensor x, Tensor? bias, bool largest) -> (Tensor, Tensor)",
    "ends.out(Tensor x, Tensor? bias, bool largest, *, Tensor(a!) least, Tensor(b!) most) -> (Tensor(a!), Tensor(b!))",
):
    LIBRARY.define(schema)


def _ends(x: Tensor, bias: Tensor | None, largest: bool) -> tuple[Tensor, Tensor]:
    return x.amin(1), x.amax(1)


LIBRARY.impl("scale", lambda x, by, times=1: x * by * times, "CPU")
LIBRARY.impl("named", lambda x, sizes=(1, 2), mode=None: x * len(sizes), "CPU")
LIBRARY.impl("ends", _ends, "CPU")
LIBRARY._register_fake("scale", lambda x, by, times=1: torch.empty_like(x))
LIBRARY._register_fake("named", lambda x, sizes=(1, 2), mode=None: torch.empty_like(x))
LIBRARY._register_fake("ends", lambda x, bias, largest: (x.new_empty(x.shape[0]), x.new_empty(x.shape[0])))

ET = torch.ops.et_stock


@kernel("et_stock::scale.out", shape=lambda x, by, times: x.shape)
def scale_out(x: Any, by: float, times: int, *, out: Any) -> None:
    out[...] = x * by * times


@kernel("et_stock::named.out")
def named_out(x: Any, sizes: list[int], mode: str | None, *, out: Any) -> None:
    out[...] = x * len(sizes)


@kernel("et_stock::ends.out", shape=lambda x, bias, largest: (x.shape[:1], x.shape[:1]))
def ends_out(x: Any, bias: Any, largest: bool, *, least: Any, most: Any) -> None:
    least[...], most[...] = x.min(1), x.max(1)


class Net(nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Any:
        return self.function(x)


def scaled(x: Tensor) -> Tensor:
    return ET.scale(x, 2.5) + 1


def scaled_by_name(x: Tensor) -> Tensor:
    return ET.scale(x.abs(), 0.5, times=3)


def named(x: Tensor) -> Any:
    return ET.named(x), ET.named(x, sizes=[3], mode="any")


def both_ends(x: Tensor) -> Any:
    least, most = ET.ends(x, None, True)
    return most - least, ET.ends(x, x, False)


PROGRAMS = (scaled, scaled_by_name, both_ends)
X = torch.arange(12.0).reshape(3, 4) - 5
NAMES = ("et_stock::scale.out", "et_stock::ends.out", "et_stock::named.out")


@cache
def exported(function: Callable[..., Any]) -> ExportedProgram:
    return export(Net(function), (X,))


def ours(function: Callable[..., Any]) -> bytes:
    return to_edge(exported(function)).to_executorch(ExecutorchBackendConfig(extra_operators=NAMES)).buffer


def theirs(function: Callable[..., Any]) -> bytes:
    with warnings.catch_warnings(action="ignore"):
        from executorch.exir import EdgeCompileConfig
        from executorch.exir import to_edge as stock_to_edge

        config = EdgeCompileConfig(_check_ir_validity=False)
        return stock_to_edge(exported(function), compile_config=config).to_executorch().buffer


def calls(file: bytes) -> list[tuple[str, list[str]]]:
    """The calls of the user's operators: their names, and the values that they are given, the outputs among them."""
    (plan,) = read_pte(file).program.execution_plan
    found: list[tuple[str, list[str]]] = []
    for instruction in plan.chains[0].instructions:
        call = instruction.instr_args
        if isinstance(call, KernelCall):
            operator = plan.operators[call.op_index]
            if operator.name.startswith("et_stock::"):
                shown = [type(plan.values[arg].val).__name__ for arg in call.args]
                found.append((f"{operator.name}.{operator.overload}", shown))
    return found


def registry() -> KernelRegistry:
    import sys

    return load_library("portable", [kernels_of(sys.modules[__name__])])


def check(file: bytes, function: Callable[..., Any], kernels: KernelRegistry | str) -> None:
    method = Runtime().load_program(file, kernels=kernels, poison=True).load_method("forward")
    wanted = torch.utils._pytree.tree_leaves(function(X))
    torch.testing.assert_close(list(method.execute([X])), wanted)


@pytest.mark.parametrize("function", PROGRAMS)
def test_calls_are_those_of_the_stock_compiler(function: Callable[..., Any]):
    assert calls(ours(function)) == calls(theirs(function))


@pytest.mark.parametrize(
    ("function", "make"), [*((f, make) for f in PROGRAMS for make in (ours, theirs)), (named, ours)]
)
def test_values(function: Callable[..., Any], make: Callable[..., bytes]):
    check(make(function), function, registry())
    check(make(function), function, "aten")


@pytest.mark.parametrize(
    ("function", "make"), [*((f, make) for f in PROGRAMS for make in (ours, theirs)), (named, ours)]
)
def test_files_compiled_again(function: Callable[..., Any], make: Callable[..., bytes]):
    edge = raise_program(make(function))
    file = edge.to_executorch(ExecutorchBackendConfig(extra_operators=NAMES)).buffer
    assert calls(file) == calls(make(function))
    check(file, function, registry())


@pytest.mark.parametrize("make", [ours, theirs])
def test_the_stock_runtime_names_what_it_lacks(
    make: Callable[..., bytes], stock: StockRuntime, tmp_path: Path
):
    path = tmp_path / "scaled.pte"
    path.write_bytes(make(scaled))
    with pytest.raises(StockError, match=r"et_stock::scale\.out"):
        stock.run(path, [X])


def test_sizes_known_at_run_time():
    program = export(Net(both_ends), (X,), dynamic_shapes=({0: Dim("rows", max=8)},))
    file = to_edge(program).to_executorch(ExecutorchBackendConfig(extra_operators=NAMES)).buffer
    for kernels in (registry(), "aten"):
        method = Runtime().load_program(file, kernels=kernels, poison=True).load_method("forward")
        for rows in (1, 5, 8, 2):
            x = torch.randn(rows, 4)
            torch.testing.assert_close(
                list(method.execute([x])), torch.utils._pytree.tree_leaves(both_ends(x))
            )
    # No rule says how the sizes of results depend on those of inputs.
    with pytest.raises(
        PassFailedException, match=r"raise_c4\] nothing tells the sizes of results of 'et_stock::ends"
    ):
        raise_program(file)
