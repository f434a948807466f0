"""Common subexpression elimination, beyond the lit tests."""

import random

import pytest
import torch
from support.aten_interpreter import Interpreter
from support.modules import parse, run


@pytest.mark.parametrize("seed", range(20))
def test_random_programs(seed: int) -> None:
    """Many equal ops, in a program of few operators: results stay, no two equal ops remain."""
    pick = random.Random(seed)
    lines: list[str] = []
    names = ["x"]
    for index in range(60):
        a, b = pick.choice(names), pick.choice(names)
        operator = pick.choice(["add.Tensor", "sub.Tensor", "mul.Tensor", "maximum"])
        lines.append(f"%v{index} = aten.{operator} %{a}, %{b} : tensor<3xf32>")
        names.append(f"v{index}") if pick.random() < 0.3 else None
    text = "\n".join(lines)
    module = parse(f"""
    func.func @forward(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {{
      {text}
      func.return %v59, %v58 : tensor<3xf32>, tensor<3xf32>
    }}""")
    x = torch.rand(3, generator=torch.Generator().manual_seed(seed)) / 4
    expected = Interpreter(module).run(x)
    run(module, "cse")
    for found, wanted in zip(Interpreter(module).run(x), expected, strict=True):
        torch.testing.assert_close(found, wanted, rtol=0, atol=0, equal_nan=True)
    keys = [(op.name, tuple(map(id, op.operands)), str(op.properties)) for op in module.walk() if op.results]
    assert len(keys) == len(set(keys))
    before = str(module)
    assert str(run(module, "cse")) == before
