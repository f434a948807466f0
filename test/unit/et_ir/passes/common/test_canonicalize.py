"""Canonical forms compute what the program computed before, bit for bit, and are reached in one run."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
import torch
from support.aten_interpreter import Interpreter
from support.modules import parse, run
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue

from et_ir.dialects.aten import OP_BY_NAME
from et_ir.passes.common.canonicalize import CanonicalizePass
from et_ir.verification import verify_module

Value = SSAValue[TensorType[Attribute]]


def shape_of(value: SSAValue) -> tuple[int, ...]:
    assert isinstance(value.type, TensorType)
    return value.type.get_shape()


class Builder:
    """Random programs of shape operators and arithmetic, correct by construction: result types are inferred."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        shape = tuple(self.random.choice([1, 1, 2, 3, 4]) for _ in range(self.random.randint(1, 4)))
        self.block = Block(arg_types=[TensorType(f32, shape)])
        self.values: list[Any] = [self.block.args[0]]

    def add(self, name: str, *args: Any) -> list[Any]:
        op = OP_BY_NAME[name].make(*args)
        self.block.add_op(op)
        return list(op.results)

    def step(self) -> None:
        value = self.random.choice(self.values[-4:])
        shape = shape_of(value)
        rank = len(shape)
        dim = self.random.randrange(rank) if rank else 0
        choices: list[Callable[[], list[Any]]] = [
            lambda: self.add("unsqueeze", value, self.random.randint(0, rank)),
            lambda: self.add("view", value, self.factored(shape)),
            lambda: self.add("expand", value, [self.random.choice([1, 2]), *shape]),
            lambda: self.add("relu", value),
            lambda: self.add("neg", value),
            lambda: self.add("clone", value),
            lambda: self.add("mul.Scalar", value, self.random.choice([1, 1.0, 2])),
            lambda: self.add("add.Scalar", value, self.random.choice([0, -0.0, 1])),
            lambda: self.add("pow.Tensor_Scalar", value, self.random.choice([1, 2, 0.5])),
            lambda: self.add(self.random.choice(["abs", "sigmoid"]), value),
            lambda: self.add("maximum", value, value),
            lambda: self.add("repeat", value, [1] * rank),
            lambda: self.add("constant_pad_nd", value, [0, self.random.choice([0, 1])] if rank else [], 0.5),
        ]
        if rank:
            order = list(range(rank))
            self.random.shuffle(order)
            choices += [
                lambda: self.add("permute", value, order),
                lambda: self.add("transpose.int", value, dim, self.random.randrange(rank) - rank),
                lambda: self.add("squeeze.dim", value, dim),
                lambda: self.add("slice.Tensor", value, dim, *self.bounds(shape[dim]), 1),
                lambda: self.add("cat", [value, value], dim),
                lambda: self.add("flip", value, [dim]),
                lambda: self.add("repeat", value, [self.random.choice([1, 2]) for _ in order]),
                lambda: self.turned(value, order),
            ]
            if shape[dim] == 1:
                choices.append(lambda: self.add("amax", value, [dim], self.random.choice([True, False])))
            if shape[dim]:
                choices += [
                    lambda: self.add("select.int", value, dim, self.random.randrange(shape[dim])),
                    lambda: self.add("split.Tensor", value, self.random.randint(1, shape[dim]), dim),
                    lambda: self.rejoined(value, dim, shape[dim]),
                ]
        for other in self.values[-6:]:
            if shape_of(other) == shape:
                choices.append(lambda other=other: self.add("add.Tensor", value, other))
        new = self.random.choice(choices)()
        self.values.extend(v for v in new if 0 not in shape_of(v) and len(shape_of(v)) < 7)

    def turned(self, value: Value, order: list[int]) -> list[Any]:
        """Pointwise operators between two permutations, the second of which may undo the first."""
        (inside,) = self.add("permute", value, order)
        for _ in range(self.random.randint(1, 3)):
            if self.random.random() < 0.5:
                same = [v for v in self.values if shape_of(v) in (shape_of(inside), shape_of(inside)[1:])]
                (inside,) = self.add("mul.Tensor", inside, self.random.choice([inside, *same]))
            else:
                (inside,) = self.add("neg", inside)
        back = [order.index(d) for d in range(len(order))]
        return self.add("permute", inside, self.random.choice([back, order]))

    def rejoined(self, value: Value, dim: int, size: int) -> list[Any]:
        """A concatenation of some slices of a tensor."""
        if self.random.random() < 0.5:
            pieces = self.add("split.Tensor", value, self.random.randint(1, size), dim)
        else:
            pieces = []
            for place in range(size):
                (one,) = self.add("select.int", value, dim, place)
                pieces += self.add("unsqueeze", one, dim)
        first = self.random.randrange(len(pieces))
        return self.add("cat", pieces[first : self.random.randint(first + 1, len(pieces))], dim)

    def factored(self, shape: tuple[int, ...]) -> list[int]:
        """Sizes with the same number of elements."""
        sizes = list(shape)
        self.random.shuffle(sizes)
        if len(sizes) > 1 and self.random.random() < 0.5:
            sizes[0:2] = [sizes[0] * sizes[1]]
        return sizes

    def bounds(self, size: int) -> tuple[int, int]:
        start = self.random.randint(-size, size - 1) if size else 0
        return start, self.random.choice([2**63 - 1, size, self.random.randint(0, size + 1)])

    def module(self) -> ModuleOp:
        outputs = self.random.sample(self.values, min(3, len(self.values)))
        self.block.add_op(ReturnOp(*outputs))
        types = [v.type for v in outputs]
        module = ModuleOp([FuncOp("forward", ([self.block.args[0].type], types), Region(self.block))])
        verify_module(module)
        return module


@pytest.mark.parametrize("seed", range(150))
def test_random_programs(seed: int) -> None:
    builder = Builder(seed)
    for _ in range(25):
        builder.step()
    module = builder.module()
    x = torch.randn(shape_of(builder.block.args[0]), generator=torch.Generator().manual_seed(seed)).abs()
    expected = Interpreter(module).run(x)
    count = sum(1 for _ in module.walk())
    run(module, "canonicalize")
    found = Interpreter(module).run(x)
    for f, e in zip(found, expected, strict=True):
        torch.testing.assert_close(f, e, rtol=0, atol=0, equal_nan=True)
    assert sum(1 for _ in module.walk()) <= count
    again = str(module)
    CanonicalizePass().apply(Context(), module)
    assert str(module) == again


@pytest.mark.parametrize("seed", range(30))
def test_random_programs_at_the_edge_level(seed: int) -> None:
    """The same through all passes from Core ATen to edge."""
    builder = Builder(1000 + seed)
    for _ in range(25):
        builder.step()
    module = builder.module()
    x = torch.randn(shape_of(builder.block.args[0]), generator=torch.Generator().manual_seed(seed)).abs()
    expected = Interpreter(module).run(x)
    run(
        module,
        "canonicalize,constant-fold,cse,dce,views-to-copies,scalars-to-tensors,promote-types,aten-to-edge,"
        "memory-formats-to-dim-orders,propagate-dim-order,remove-redundant-copies,canonicalize,constant-fold,cse,dce,"
        "verify-edge",
    )
    for f, e in zip(Interpreter(module).run(x), expected, strict=True):
        torch.testing.assert_close(f, e, rtol=0, atol=0, equal_nan=True)


def test_long_chains_are_merged_in_linear_time() -> None:
    """Ten times as long a chain of views takes about ten times as long; counted in rewrites rather than seconds."""
    length = 3000
    lines = "\n".join(
        f"%{i + 1} = aten.view %{i} {{size = [{'2, 3' if i % 2 == 0 else '3, 2'}]}} : "
        f"(tensor<{'3x2' if i % 2 == 0 else '2x3'}xf32>) -> tensor<{'2x3' if i % 2 == 0 else '3x2'}xf32>"
        for i in range(length)
    )
    last = "3x2" if length % 2 == 0 else "2x3"
    module = parse(f"""
    func.func @forward(%0: tensor<3x2xf32>) -> tensor<{last}xf32> {{
      {lines}
      %r = aten.relu %{length} : tensor<{last}xf32>
      func.return %r : tensor<{last}xf32>
    }}""")
    run(module, "canonicalize")
    assert [op.name for op in module.walk() if op.name.startswith("aten")] == ["aten.relu"]


def test_long_chains_of_concatenations_are_joined_at_once() -> None:
    """Joining them one by one would take minutes."""
    length = 3000
    lines = "\n".join(
        f"%{i + 1} = aten.cat [%{i}, %x] : (tensor<{i + 1}xf32>, tensor<1xf32>) -> tensor<{i + 2}xf32>"
        for i in range(length)
    )
    module = parse(f"""
    func.func @forward(%x: tensor<1xf32>, %0: tensor<1xf32>) -> tensor<{length + 1}xf32> {{
      {lines}
      func.return %{length} : tensor<{length + 1}xf32>
    }}""")
    run(module, "canonicalize")
    (cat,) = (op for op in module.walk() if op.name == "aten.cat")
    assert len(cat.operands) == length + 1


def test_locations_survive() -> None:
    module = parse("""
    func.func @forward(%x: tensor<2x3xf32>) -> tensor<6xf32> {
      %0 = aten.t %x : (tensor<2x3xf32>) -> tensor<3x2xf32> loc("a.py":1:1)
      %1 = aten.unsqueeze %0 {dim = 0} : (tensor<3x2xf32>) -> tensor<1x3x2xf32> loc("a.py":2:1)
      %2 = aten.view %1 {size = [6]} : (tensor<1x3x2xf32>) -> tensor<6xf32> loc("a.py":3:1)
      func.return %2 : tensor<6xf32> loc("a.py":4:1)
    }""")
    run(module, "canonicalize")
    found = {op.name: str(op.location) for op in module.walk() if op.name.startswith("aten")}
    assert found == {"aten.permute": 'loc("a.py":1:1)', "aten.view": 'loc("a.py":3:1)'}
