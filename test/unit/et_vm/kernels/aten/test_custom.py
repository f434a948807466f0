"""Operators of a user's own, run by the implementations that torch's registry has of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from support.vm_programs import BOUND, Build, f32, load

from et_schema.errors import ExecutorchError, Trap
from et_schema.scalar_type import ScalarType
from et_vm.kernels.aten.custom import custom_kernel
from et_vm.kernels.libraries import load_library

LIBRARY = torch.library.Library("et_custom", "DEF")
for schema in (
    # written by its out variant only; by its functional form only; by neither
    "both(Tensor x, float by) -> Tensor",
    "both.out(Tensor x, float by, *, Tensor(a!) out) -> Tensor(a!)",
    "functional(Tensor x, float by) -> Tensor",
    "functional.out(Tensor x, float by, *, Tensor(a!) out) -> Tensor(a!)",
    "neither(Tensor x, float by) -> Tensor",
    "neither.out(Tensor x, float by, *, Tensor(a!) out) -> Tensor(a!)",
    "flat(Tensor x, float by) -> Tensor",
    "flat_out(Tensor x, float by, *, Tensor(a!) out) -> ()",
    "positive(Tensor x, float by) -> Tensor",
    "positive.out(Tensor x, float by, *, Tensor(a!) out) -> Tensor(a!)",
    "alone.out(Tensor x, float by, *, Tensor(a!) out) -> Tensor(a!)",
):
    LIBRARY.define(schema)

CALLED: list[str] = []


def _written(name: str) -> Any:
    def write(x: torch.Tensor, by: float, *, out: torch.Tensor) -> torch.Tensor:
        CALLED.append(name)
        return torch.mul(x, by, out=out)

    return write


def _flat(x: torch.Tensor, by: float, *, out: torch.Tensor) -> None:
    torch.mul(x, by, out=out)


LIBRARY.impl("both.out", _written("both.out"), "CPU")
LIBRARY.impl("alone.out", _written("alone.out"), "CPU")
LIBRARY.impl("flat_out", _flat, "CPU")
LIBRARY.impl("functional", torch.mul, "CPU")
LIBRARY.impl("positive", lambda x, by: x[x > 0] * by, "CPU")
for name in ("both", "functional", "neither", "flat"):
    LIBRARY._register_fake(name, lambda x, by: torch.empty_like(x))


def program(operator: str, *, dynamic: bool = False) -> Build:
    build = Build()
    options: dict[str, Any] = {"dynamism": BOUND} if dynamic else {}
    x, out = build.tensor(4, **options), build.tensor(4, **options)
    build.call(operator, x, build.scalar(2.0), out, out)
    build.inputs(x)
    build.outputs(out)
    return build


def run(operator: str, x: np.ndarray, *, dynamic: bool = False) -> list[float]:
    return load(program(operator, dynamic=dynamic), kernels=load_library("aten")).execute([x])[0].tolist()


@pytest.mark.parametrize("operator", ["both.out", "functional.out", "flat_out", "alone.out"])
def test_values(operator: str):
    assert run(f"et_custom::{operator}", f32(1, -2, 3, 4)) == [2, -4, 6, 8]


@pytest.mark.parametrize("operator", ["both.out", "functional.out", "flat_out"])
def test_sizes_known_at_run_time(operator: str):
    method = load(program(f"et_custom::{operator}", dynamic=True), kernels=load_library("aten"))
    for count in (4, 1, 0, 3):
        assert method.execute([np.ones(count, np.float32)])[0].tolist() == [2] * count


def test_it_writes_to_the_memory_of_the_method():
    CALLED.clear()
    run("et_custom::both.out", f32(1, 2, 3, 4))
    assert CALLED == ["both.out"]


def test_sizes_that_the_data_tells():
    assert run("et_custom::positive.out", f32(1, -2, 3, -4), dynamic=True) == [2, 6]


def test_sizes_that_nothing_tells():
    with pytest.raises(Trap, match=r"its result sizes are unknown before the call.*register_fake"):
        run("et_custom::alone.out", f32(1, 2), dynamic=True)


def test_no_implementation():
    with pytest.raises(
        Trap, match=r'no implementation of it for the CPU.*impl\("et_custom::neither.out", "CPU"\)'
    ):
        run("et_custom::neither.out", f32(1, 2, 3, 4))


def test_what_torch_does_not_have():
    for name in ("et_custom::nothing.out", "et_nowhere::scale.out", "et_custom::both", "aten::nothing.out"):
        assert custom_kernel(name) is None
    with pytest.raises(ExecutorchError, match=r"no kernel for et_custom::nothing.out"):
        run("et_custom::nothing.out", f32(1, 2, 3, 4))


def test_a_result_of_another_type():
    build = program("et_custom::both.out")
    build[1].scalar_type = ScalarType.INT
    with pytest.raises(ExecutorchError, match="argument 'out'"):
        load(build, kernels=load_library("aten"))
