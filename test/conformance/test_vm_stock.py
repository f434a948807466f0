"""The VM against the stock runtime: the same file, the same inputs, the same results, and the same error codes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from stock import StockError, StockRuntime, compile_stock
from support.vm_programs import Build
from torch.export import Dim, export
from unit.et_vm.test_verify import ROWS, Good

from et_schema.errors import ExecutorchError, InvalidFile
from et_vm.kernels.prims import PRIMS
from et_vm.program import Program
from et_vm.runtime import Runtime


class Linear(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.inner(x)) + 1


class ManyResults(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        values, indices = torch.max(x, 1)
        head, tail = torch.split(x, 2, dim=1)
        return values, indices, head, tail, x.amax(1), x.view(-1)


class Convolution(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.Conv2d(3, 4, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.max_pool2d(torch.relu(self.inner(x)), 2)


class ChannelsLast(Convolution):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x.to(memory_format=torch.channels_last))


class Counter(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count.add_(1)
        return x * self.count


class Scalars(torch.nn.Module):
    def forward(self, x: torch.Tensor, n: int, scale: float, flag: bool) -> tuple[torch.Tensor, int]:
        return (x * scale + n if flag else x), n


class Rows(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        doubled = x.view(x.shape[0] * 2, -1)
        return (doubled * 2).view(x.shape[0], 4) + x.shape[0]


class Branch(torch.nn.Module):
    def forward(self, flag: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(flag, lambda x: x + 1, lambda x: x * 2, (x,)) * 3


class Loop(torch.nn.Module):
    def forward(self, xs: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        from functorch.experimental.control_flow import map as torch_map

        return torch_map(lambda x, y: x * y, xs, y) - 1


class NonZero(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nonzero(x)


def arange(*sizes: int) -> torch.Tensor:
    return torch.arange(float(np.prod(sizes))).reshape(sizes) / 3 - 1


TRUE, FALSE = torch.tensor(True), torch.tensor(False)
MODULES: dict[str, tuple[Callable[[], torch.nn.Module], Any, list[tuple[Any, ...]]]] = {
    # module, dynamic shapes, sets of inputs, of which the first is exported
    "linear": (Linear, None, [(arange(2, 4),)]),
    "many_results": (ManyResults, None, [(arange(2, 4),)]),
    "convolution": (Convolution, None, [(arange(1, 3, 8, 8),)]),
    "channels_last": (ChannelsLast, None, [(arange(1, 3, 8, 8),)]),
    "counter": (Counter, None, [(arange(2, 4),)]),
    "scalars": (Scalars, None, [(arange(2, 4), 3, 2.5, True)]),
    "rows": (Rows, {"x": {0: Dim("rows", max=8)}}, [(arange(rows, 4),) for rows in (3, 8, 2)]),
    "branch": (Branch, None, [(TRUE, arange(2, 4)), (FALSE, arange(2, 4))]),
    "loop": (Loop, None, [(arange(3, 4), arange(4))]),
}


@pytest.fixture(scope="module", params=MODULES)
def exported(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, list[tuple[Any, ...]]]:
    """A stock file and the inputs to run it with."""
    factory, shapes, inputs = MODULES[request.param]
    torch.manual_seed(0)
    if shapes is not None and len(inputs[0]) == 1:
        program = export(factory().eval(), inputs[0], dynamic_shapes=shapes)
    else:
        program = export(factory().eval(), inputs[0])
    path = tmp_path_factory.mktemp("stock") / f"{request.param}.pte"
    path.write_bytes(compile_stock(program))
    return path, inputs


@pytest.mark.parametrize("poison", [False, True], ids=["plain", "poisoned"])
def test_same_results(
    exported: tuple[Path, list[tuple[Any, ...]]], stock: StockRuntime, poison: bool
) -> None:
    path, input_sets = exported
    for inputs in input_sets:
        # A new program each time, as the worker makes one: state starts afresh.
        method = Runtime.get().load_program(path, poison=poison).load_method("forward")
        ours, theirs = method.execute(inputs), stock.run(path, inputs)
        assert len(ours) == len(theirs)
        for mine, expected in zip(ours, theirs, strict=True):
            if isinstance(expected, torch.Tensor):
                torch.testing.assert_close(mine, expected, rtol=1e-5, atol=1e-5)
            else:
                assert (type(mine), mine) == (type(expected), expected)


def test_methods_keep_their_state(exported: tuple[Path, list[tuple[Any, ...]]]) -> None:
    path, input_sets = exported
    if path.stem != "counter":
        return
    method = Runtime.get().load_program(path).load_method("forward")
    for count in range(1, 4):
        (out,) = method.execute(input_sets[0])
        torch.testing.assert_close(out, input_sets[0][0] * count)


@pytest.mark.parametrize("poison", [False, True], ids=["plain", "poisoned"])
def test_shapes_that_depend_on_data(poison: bool) -> None:
    """Against eager: torch gives the result of nonzero column-major strides, which the stock kernel disregards."""
    examples = [arange(3, 4) > 0, arange(3, 4) > 100, arange(3, 4) > -100]
    file = compile_stock(export(NonZero(), (examples[0],)))
    method = Runtime.get().load_program(file, poison=poison).load_method("forward")
    for example in examples:
        (out,) = method.execute([example])
        torch.testing.assert_close(out, NonZero()(example))


NUMBERS = (7, -7, 2, -2, 0, 1, 7.5, -7.5, 2.5, -2.0, 0.0, 0.5, 1e18, math.inf, math.nan)
VALUES = (*NUMBERS, True, False)


def scalar_prims() -> list[tuple[str, tuple[Any, ...]]]:
    """Every call of a scalar prim on the values that the VM does not reject."""
    calls: list[tuple[str, tuple[Any, ...]]] = []
    for name, prim in PRIMS.items():
        if not name.startswith("executorch_prim::") or any(
            kinds & {"Tensor", "IntList"} for _, kinds in prim.params
        ):
            continue
        for arguments in itertools.product(VALUES, repeat=len(prim.params)):
            registers: list[object] = [*arguments, None]
            function, bound = prim.make(registers, *range(len(registers)))
            try:
                function(*bound)
            except ExecutorchError:
                continue
            calls.append((name, arguments))
    return calls


def test_prims_compute_the_same(stock: StockRuntime, tmp_path: Path) -> None:
    calls = scalar_prims()
    assert len({name for name, _ in calls}) == 23
    build = Build()
    outputs: list[int] = []
    for name, arguments in calls:
        out = build.scalar(None)
        build.call(name, *(build.scalar(argument) for argument in arguments), out)
        outputs.append(out)
    build.outputs(*outputs)
    path = tmp_path / "prims.pte"
    path.write_bytes(build.file())
    ours = Program.load(path).load_method("forward").execute()
    theirs = stock.run(path, [])
    for call, mine, expected in zip(calls, ours, theirs, strict=True):
        assert (call, repr(mine)) == (call, repr(expected))


# What the stock runtime finds when it loads a file; it crashes on the other rows, runs them, or fails later.
FOUND_BY_STOCK = {
    "no_arenas",
    "value_without_type",
    "negative_size",
    "rank_17",
    "size_overflow",
    "byte_overflow",
    "dim_order_repeats",
    "dim_order_out_of_range",
    "dim_order_too_short",
    "storage_offset",
    "memory_id_0",
    "memory_id_that_is_not_there",
    "past_the_end_of_the_arena",
    "high_word_of_the_offset",
    "constant_that_is_not_there",
    "constant_longer_than_its_segment",
    "int_list_item",
    "tensor_list_item",
    "tensor_list_negative_item",
    "tensor_list_of_none",
    "optional_tensor_list_item",
    "optional_tensor_list_of_ints",
    "no_chain",
    "instruction_without_arguments",
    "kernel_argument_index",
    "move_from",
    "move_to",
    "free_index",
    "jump_condition_index",
}


@pytest.mark.parametrize("row", [row for row in ROWS if row[0] in FOUND_BY_STOCK], ids=lambda row: row[0])
def test_same_error_codes(row: tuple[Any, ...], stock: StockRuntime, tmp_path: Path) -> None:
    _, mutate, _, _ = row
    good = Good()
    mutate(good)
    # Without what the stock runtime has not: our test kernels and the delegate.
    for chain in good.plan.chains:
        del chain.instructions[4:]
    del good.plan.delegates[:]
    for operator, name in zip(good.plan.operators, ("aten::maximum", "aten::copy_"), strict=True):
        operator.name = name
    path = tmp_path / "malformed.pte"
    path.write_bytes(good.file())
    with pytest.raises(InvalidFile) as caught:
        Program.load(path)
    with pytest.raises(StockError, match=rf"Failed to load .*error: 0x:{int(caught.value.code):x}\n"):
        stock.run(path, [torch.ones(2, 4), torch.ones(2, 4)])
