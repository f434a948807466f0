"""Guards imported from the size constraints of export.

They are all of the constraints, and nothing that follows from the rest.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim
from xdsl.dialects.func import FuncOp

from et_ir import raise_program, to_edge
from et_ir.dialects.program import GuardsAttr
from et_ir.frontend import UnsupportedProgram, import_program
from et_schema.errors import InputError
from et_vm.runtime import Runtime

N = Dim("n", min=2, max=64)


class One(nn.Module):
    def __init__(self, function: Callable[[Tensor], Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Any:
        return self.function(x)


class Two(nn.Module):
    def __init__(self, function: Callable[[Tensor, Tensor], Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor, y: Tensor) -> Any:
        return self.function(x, y)


def guards(program: torch.export.ExportedProgram) -> list[str]:
    module = import_program(program)
    (method,) = (op for op in module.body.block.ops if isinstance(op, FuncOp))
    attr = method.attributes.get("program.guards")
    return list(attr.data.conditions) if isinstance(attr, GuardsAttr) else []


def exact(program: torch.export.ExportedProgram) -> list[str]:
    """The conditions on the second sizes of inputs of which the first varies."""
    return [
        f"{node.name}.shape[1] == 4"
        for node in program.graph.nodes
        if node.op == "placeholder" and type(node.meta["val"].shape[0]) is not int
    ]


def checks(x: Tensor) -> Tensor:
    torch._check(x.shape[0] < 50)
    torch._check(x.shape[0] % 3 == 0)
    torch._check(x.shape[0] != 12)
    return x * 2


def checks_of_two(x: Tensor, y: Tensor) -> Tensor:
    torch._check(x.shape[0] + y.shape[0] < 50)
    torch._check(x.shape[0] <= y.shape[0])
    return x.sum() + y.sum()


def is_large(x: Tensor) -> Tensor:
    return x + 1 if x.shape[0] > 3 else x - 1


AUTO, DYNAMIC = Dim.AUTO, Dim.DYNAMIC


@pytest.mark.parametrize(
    ("function", "dynamic", "rows", "expected"),
    [
        (lambda x: x + 1, (None,), (6,), []),
        (lambda x: x + 1, ({0: N},), (6,), ["2 <= x.shape[0] <= 64"]),
        (lambda x: x + 1, ({0: Dim("n", max=8)},), (6,), ["x.shape[0] <= 8"]),
        (lambda x: x + 1, ({0: DYNAMIC},), (6,), ["2 <= x.shape[0]"]),
        (lambda x: x + 1, ({0: DYNAMIC(min=3, max=9)},), (6,), ["3 <= x.shape[0] <= 9"]),
        (lambda x: x + 1, ({0: 2 * N},), (6,), ["x.shape[0] % 2 == 0", "4 <= x.shape[0] <= 128"]),
        (
            lambda x: x.reshape(-1, 2, 4) + 1,
            ({0: 2 * N},),
            (6,),
            ["x.shape[0] % 2 == 0", "4 <= x.shape[0] <= 128"],
        ),
        (lambda x, y: x + y, ({0: N}, {0: N}), (6, 6), ["2 <= x.shape[0] <= 64", "y.shape[0] == x.shape[0]"]),
        (lambda x, y: x + y, ({0: AUTO}, {0: AUTO}), (6, 6), ["2 <= x.shape[0]", "y.shape[0] == x.shape[0]"]),
        (
            lambda x, y: x + y[1:],
            ({0: N}, {0: N + 1}),
            (6, 7),
            ["2 <= x.shape[0] <= 64", "y.shape[0] == 1 + x.shape[0]"],
        ),
        (checks, ({0: AUTO},), (6,), ["2 <= x.shape[0] <= 49", "x.shape[0] % 3 == 0", "x.shape[0] != 12"]),
        (
            checks_of_two,
            ({0: AUTO}, {0: AUTO}),
            (6, 7),
            [
                "2 <= x.shape[0] <= 47",
                "2 <= y.shape[0] <= 47",
                "y.shape[0] + x.shape[0] < 50",
                "x.shape[0] <= y.shape[0]",
            ],
        ),
        (is_large, ({0: AUTO},), (6,), ["4 <= x.shape[0]"]),
        (
            lambda x: x.new_zeros(math.ceil(x.shape[0] / 3)),
            ({0: DYNAMIC(max=64)},),
            (12,),
            ["2 <= x.shape[0] <= 64", "ceil(x.shape[0] / 3) >= 2", "ceil(x.shape[0] / 3) != 1"],
        ),
        (
            lambda x: torch.arange(0.5, x.shape[0] // 2) + x.sum(),
            ({0: DYNAMIC(max=64)},),
            (12,),
            [
                "2 <= x.shape[0] <= 64",
                "ceil((-0.5 + float(x.shape[0] // 2)) / 1.0) >= 2",
                "ceil((-0.5 + float(x.shape[0] // 2)) / 1.0) != 1",
            ],
        ),
    ],
)
def test_guards(
    function: Callable[..., Any], dynamic: tuple[Any, ...], rows: tuple[int, ...], expected: list[str]
) -> None:
    module = One(function) if len(rows) == 1 else Two(function)
    inputs = tuple(torch.ones(n, 4) for n in rows)
    program = torch.export.export(module, inputs, dynamic_shapes=dynamic)
    assert guards(program) == [*expected, *exact(program)]


def test_inputs_in_lists_and_dicts() -> None:
    class Net(nn.Module):
        def forward(self, x: Tensor, *, d: dict[str, Tensor], several: list[Tensor]) -> Tensor:
            return x + d["A b"] + several[0]

    x, free = torch.ones(6, 4), {0: AUTO}
    program = torch.export.export(
        Net(),
        (x,),
        {"d": {"A b": x + 1}, "several": [x + 2]},
        dynamic_shapes={"x": free, "d": {"A b": free}, "several": [free]},
    )
    first, *others = guards(program)
    assert first == "2 <= x.shape[0]"
    conditions = ["shape[0] == x.shape[0]"] * 2 + ["shape[1] == 4"] * 3
    assert [other.partition(".")[2] for other in others] == conditions


def test_sizes_that_do_not_vary() -> None:
    """They are guarded where another size of the input varies: the file has bounds of all then."""

    class Rows(nn.Module):
        def forward(self, x: Tensor, y: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
            return x.reshape(-1), y + z.sum()

    program = torch.export.export(
        Rows(), (torch.ones(2, 3), torch.ones(5), torch.ones(4, 2, 1)), dynamic_shapes=({0: N}, None, {1: N})
    )
    assert guards(program) == [
        "2 <= x.shape[0] <= 64",
        "z.shape[1] == x.shape[0]",
        "x.shape[1] == 3",
        "z.shape[0] == 4",
        "z.shape[2] == 1",
    ]
    file = to_edge(program).to_executorch().buffer
    for buffer in (file, raise_program(file).to_executorch().buffer):
        method = Runtime().load_program(buffer).load_method("forward")
        y, z = np.ones(5, np.float32), np.ones((4, 3, 1), np.float32)
        assert method.execute([np.ones((3, 3), np.float32), y, z])[0].shape == (9,)
        with pytest.raises(
            InputError, match=r"dimension 1 of x is 2, the program requires x.shape\[1\] == 3"
        ):
            method.execute([np.ones((3, 2), np.float32), y, z])


def test_what_cannot_be_written_down() -> None:
    program = torch.export.export(One(lambda x: x + 1), (torch.ones(6, 4),), dynamic_shapes=({0: N},))
    program._guards_code.append("L['x'].size()[0].bit_length() == 3")  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(UnsupportedProgram, match="its guards on input sizes cannot be represented"):
        import_program(program)
