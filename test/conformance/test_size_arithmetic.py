"""Arithmetic on numbers known at run time only gives Python's numbers on every runtime.

One program computes all functions of integers and floats that it reads from tensors, so nothing of it is folded.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from stock import StockRuntime
from xdsl.dialects.builtin import ModuleOp, TensorType, f64, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from et_ir import EdgeProgramManager, ExecutorchBackendConfig
from et_ir.dialects.aten import ops as aten
from et_ir.driver.pipelines import core_aten_passes, edge_passes
from et_ir.driver.stages import run_passes
from et_ir.frontend.size_arithmetic import SizeArithmetic
from et_ir.targets.lookup import DEFAULT
from et_vm.runtime import Runtime

Function = tuple[str, Callable[..., Any], tuple[Any, ...]]
"""A name, what it is in Python, and what it is called with: names of inputs, and numbers."""

BOTH = (("a", "b"), ("x", "y"), ("a", "y"), ("x", "b"), ("a", 3), ("x", -2.5))
FUNCTIONS: list[Function] = [
    *(
        (name, getattr(operator, name), arguments)
        for name in ("add", "sub", "mul", "floordiv", "truediv", "mod", "eq", "ne", "lt", "le", "gt", "ge")
        for arguments in BOTH
    ),
    *((name, getattr(torch, name), arguments) for name in ("sym_max", "sym_min") for arguments in BOTH),
    *(
        (name, function, (argument,))
        for name, function in {
            "neg": operator.neg, "abs": abs, "floor": math.floor, "ceil": math.ceil, "trunc": math.trunc,
            "round": round, "sym_float": float, "sym_int": int,
        }.items()
        for argument in ("a", "x")
    ),
    *(("pow", operator.pow, ("a", exponent)) for exponent in (0, 1, 2, 3, 7)),
    *(("pow", operator.pow, (base, "c")) for base in (0, 1, -1, 2, -3, 5)),
    *(("pow", operator.pow, ("z", exponent)) for exponent in ("x", 0.5, -0.5, 2.0, 1.0, -1.0, 0.0)),
    ("lshift", operator.lshift, ("a", 3)),
    ("rshift", operator.rshift, ("a", 2)),
    ("lshift", operator.lshift, ("a", "c")),
    ("and_", operator.and_, ("a", 6)),
    ("or_", operator.or_, ("a", "b")),
    *((name, getattr(math, name), ("z",)) for name in ("sqrt", "exp", "log", "log2", "sin", "cos", "tanh", "atan")),
]  # fmt: skip
INPUTS = [
    {"a": 7, "b": 2, "c": 3, "x": 7.5, "y": 2.0, "z": 2.25},
    {"a": -7, "b": 2, "c": 0, "x": -7.5, "y": 2.0, "z": 0.3},
    {"a": 7, "b": -2, "c": 20, "x": 4.2, "y": -0.5, "z": 16.0},
    {"a": -8, "b": -3, "c": 9, "x": -3.5, "y": -1.25, "z": 1.0},
    {"a": 0, "b": 5, "c": 1, "x": 2.5, "y": 2.5, "z": 100.0},
    {"a": 12, "b": 12, "c": 26, "x": -0.5, "y": 0.25, "z": 7.7},
]


def program() -> ModuleOp:
    ops: list[Operation] = []
    types = [TensorType(i64, ())] * 3 + [TensorType(f64, ())] * 3
    block = Block(arg_types=types)
    numbers: dict[str, SSAValue] = {}
    for name, argument in zip("abcxyz", block.args, strict=True):
        ops.append(aten.UnderscoreLocalScalarDenseOp.make(argument))
        numbers[name] = ops[-1].results[0]
    arithmetic = SizeArithmetic(ops.append)
    results: list[SSAValue] = []
    for name, _, arguments in FUNCTIONS:
        given = [numbers[one] if isinstance(one, str) else one for one in arguments]
        found = arithmetic.call(name, given)
        assert found is not None, name
        results.append(found)
    # Truth and choices, of what other functions gave.
    less, same = (
        arithmetic.call("lt", [numbers["a"], numbers["b"]]),
        arithmetic.call("eq", [numbers["x"], numbers["y"]]),
    )
    for name, arguments in (
        ("and_", [less, same]),
        ("or_", [less, same]),
        ("sym_not", [less]),
        ("eq", [less, same]),
        ("sym_ite", [less, numbers["a"], numbers["b"]]),
        ("sym_ite", [same, numbers["x"], numbers["b"]]),
        ("sym_float", [less]),
    ):
        found = arithmetic.call(name, arguments)
        assert found is not None, name
        results.append(found)
    block.add_ops([*ops, ReturnOp(*results)])
    function = FuncOp("forward", (types, [result.type for result in results]), Region(block))
    return ModuleOp([function])


def wanted(inputs: dict[str, Any]) -> list[Any]:
    found = [
        function(*(inputs[one] if isinstance(one, str) else one for one in arguments))
        for _, function, arguments in FUNCTIONS
    ]
    a, b, x, y = (inputs[name] for name in "abxy")
    less, same = a < b, x == y
    return [
        *found,
        less and same,
        less or same,
        not less,
        less == same,
        a if less else b,
        x if same else float(b),
        float(less),
    ]


@pytest.fixture(scope="module")
def edge() -> EdgeProgramManager:
    module = program()
    run_passes(module, core_aten_passes())
    run_passes(module, edge_passes())
    return EdgeProgramManager(module)


@pytest.mark.parametrize("target", ["et-vm", DEFAULT])
def test_as_in_python(edge: EdgeProgramManager, target: str, tmp_path: Path, stock: StockRuntime) -> None:
    path = tmp_path / "arithmetic.pte"
    path.write_bytes(edge.to_executorch(ExecutorchBackendConfig(target=target)).buffer)
    runs: dict[str, Callable[[list[Any]], Any]] = {
        library: Runtime.get().load_program(path, kernels=library, poison=True).load_method("forward").execute
        for library in ("portable", "aten")
    }
    if target == DEFAULT:
        runs["stock"] = lambda given: stock.run(path, given)
    names = [f"{name}{arguments}" for name, _, arguments in FUNCTIONS] + ["truth"] * 7
    for inputs in INPUTS:
        given = [torch.tensor(inputs[name]) for name in "abc"]
        given += [torch.tensor(inputs[name], dtype=torch.float64) for name in "xyz"]
        for label, run in runs.items():
            found = list(run(given))
            for name, got, expected in zip(names, found, wanted(inputs), strict=True):
                assert type(got) is type(expected), (label, name, inputs)
                assert got == pytest.approx(expected, rel=1e-15, abs=0), (label, name, inputs)
