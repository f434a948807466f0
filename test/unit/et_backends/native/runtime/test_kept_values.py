"""Values inside machine code: what tracers are given of a program that keeps them, and damaged tables."""

from __future__ import annotations

from collections.abc import Callable
from unittest.mock import patch

import numpy as np
import pytest
import torch
from support.native_blobs import SETS, SIZED, TEXT, blob, here, tensor
from torch import nn

from et_backends.native.compiler import NativePartitioner
from et_backends.native.format import (
    NativeProgram,
    NativeTensor,
    NativeValue,
    interface_symbol,
    read_native,
    serialize_native,
)
from et_backends.native.lines import native_lines
from et_backends.native.runtime.backend import NativeBackend
from et_ir import ExecutorchBackendConfig, to_edge_transform_and_lower
from et_schema.errors import Error, InvalidFile, OutOfMemory
from et_schema.program import TensorShapeDynamism
from et_schema.scalar_type import ScalarType
from et_vm.backend import BackendExecuteContext, BackendInitContext, NativeOptions
from et_vm.platform import Platform
from et_vm.runtime import Runtime
from et_vm.tracer import EventTracer
from et_vm.values import Tensor

FLOAT = ScalarType.FLOAT


class Values(EventTracer):
    """Copies of what parts of delegates compute, by identifier, and the names of these."""

    wants_values = True

    def __init__(self) -> None:
        self.found: list[tuple[int | str, np.ndarray]] = []
        self.names: list[str] = []

    def on_delegate_value(
        self, method: str, index: int, identifier: int | str, name: str, output: int, value: object
    ) -> None:
        assert isinstance(value, Tensor)
        self.found.append((identifier, value.array.copy()))
        self.names.append(name)


def init(program: NativeProgram | bytes, *, limit: int | None = None, poison: bool = False) -> object:
    raw = program if isinstance(program, bytes) else serialize_native(program)
    context = BackendInitContext(
        Platform(memory_limit=limit), None, "forward", {}, None, poison, native=NativeOptions(True, 2)
    )
    return NativeBackend().init(context, memoryview(raw), [])


def run(handle: object, args: list[Tensor], tracer: EventTracer | None) -> None:
    NativeBackend().execute(BackendExecuteContext(Platform(), tracer, "forward", 0), handle, args)


def arguments() -> list[Tensor]:
    random = np.random.default_rng(0)
    shapes = (5, 8), (8, 20), (5, 20), (5, 8)
    return [tensor(random.standard_normal(shape).astype(np.float32)) for shape in shapes]


@pytest.mark.parametrize("poison", [False, True])
def test_each_kernel(poison: bool) -> None:
    """In each call, also of results of the partition, which have their values from there."""
    handle, tracer = init(blob(values=True), poison=poison), Values()
    for call in range(2):
        args = arguments()
        args[0].array[...] += call
        run(handle, args, tracer)
        x, w, product, positive = (one.array for one in args)
        np.testing.assert_allclose(product, np.tanh(x @ w), rtol=1e-5, atol=1e-6)
        (first, one), (second, other) = tracer.found[2 * call :]
        assert (first, second) == (0, 1)
        np.testing.assert_array_equal(one, product)
        np.testing.assert_array_equal(other, positive)
        np.testing.assert_array_equal(positive, np.maximum(x, 0))
    assert tracer.names == ["product_0", "pointwise_0"] * 2


def test_sizes_known_at_run_time() -> None:
    handle, tracer = init(blob(text=SIZED, values=True)), Values()
    random = np.random.default_rng(0)
    for rows, inner in ((9, 40), (3, 7)):
        tracer.found.clear()
        x, w = (random.standard_normal(shape).astype(np.float32) for shape in ((rows, inner), (inner, 20)))
        outputs = [
            Tensor(FLOAT, sizes, storage=np.zeros(1440, np.uint8), dynamism=TensorShapeDynamism.DYNAMIC_BOUND)
            for sizes in ((9, 20), (360,))
        ]
        run(handle, [tensor(x), tensor(w), *outputs], tracer)
        shapes = [value.shape for _, value in tracer.found]
        assert shapes == [(rows, 20), (rows, 20), (rows * inner,)]
        np.testing.assert_allclose(tracer.found[0][1], x @ w, rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(tracer.found[1][1], outputs[0].array)


class Chain(nn.Module):
    """Images, whose channels are innermost between convolutions, a pad, a fused band and a product."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 18, 3, padding=1)
        self.body = nn.Sequential(
            nn.Conv2d(18, 18, 1), nn.Conv2d(18, 18, 3, padding=1, groups=18), nn.Conv2d(18, 8, 1)
        )
        self.last = nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.first(x))
        y = self.body(y) * 0.5
        return torch.softmax(self.last(y.mean((2, 3))), -1)


@pytest.mark.parametrize("bands", [0, None])
def test_values_in_other_orders(bands: int | None) -> None:
    """Arrays have the dimensions of the program, whatever their order in memory; the results are as without values."""
    torch.manual_seed(0)
    module, x = Chain().eval(), torch.randn(1, 3, 9, 7)
    exported = torch.export.export(module, (x,))
    results: list[np.ndarray] = []
    tracer = Values()
    for values in (False, True):
        partitioner = NativePartitioner(instruction_sets=[SETS[here()]], bands=bands, values=values)
        file = to_edge_transform_and_lower(exported, partitioner=partitioner).to_executorch(
            ExecutorchBackendConfig(target="et-vm")
        )
        program = Runtime().load_program(file.buffer, allow_native=True, tracer=tracer)
        results.append(program.load_method("forward").execute([x.numpy()])[0].copy())
        assert bool(tracer.found) == values
    np.testing.assert_array_equal(*results)
    convolved = torch.relu(module.first(x))
    halved = module.body(convolved) * 0.5
    found = [value for _, value in tracer.found]
    for wanted in (convolved, halved, torch.softmax(module.last(halved.mean((2, 3))), -1)):
        array = wanted.detach().numpy()
        near = [one for one in found if one.shape == array.shape and np.allclose(one, array, atol=1e-5)]
        assert near, array.shape
    assert any("bands" in name for name in tracer.names) == (bands == 0)


def test_the_memory() -> None:
    nbytes = (5 * 20 + 5 * 8) * 4
    report = NativeBackend().memory_report(init(blob(values=True)))
    assert report["values for tracers"] == nbytes
    assert native_lines(memoryview(blob(values=True)), {}, {})[-1] == f"2 values for tracers: {nbytes} bytes"
    program = read_native(blob(values=True))
    symbol = interface_symbol(program)
    program.values[0].nbytes = 1 << 40
    with (
        patch("et_backends.native.runtime.backend.interface_symbol", return_value=symbol),
        pytest.raises(OutOfMemory),
    ):
        init(program, limit=1 << 20)


def test_nothing_is_kept_unless_asked_for() -> None:
    program = read_native(blob())
    assert not program.values
    assert "values for tracers" not in NativeBackend().memory_report(init(blob()))
    assert not any("tracers" in line for line in native_lines(memoryview(blob()), {}, {}))
    handle, tracer = init(blob()), Values()
    run(handle, arguments(), tracer)
    assert not tracer.found


def _value(**fields: object) -> Callable[[NativeProgram], None]:
    def change(program: NativeProgram) -> None:
        for name, field in fields.items():
            setattr(program.values[0], name, field)

    return change


def _extra(program: NativeProgram) -> None:
    program.values = [*program.values, NativeValue(0, NativeTensor(FLOAT, [1], b"\0"), 4)]


def _none(program: NativeProgram) -> None:
    program.values = []


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (_value(tensor=None), "values[0].tensor"),
        (_value(tensor=NativeTensor(ScalarType.LONG, is_number=True)), "values[0].tensor"),
        (_value(tensor=NativeTensor(FLOAT, [~9, 20], b"\0\1")), "values[0].tensor.sizes"),
        (_value(tensor=NativeTensor(FLOAT, [1] * 17, bytes(range(17)))), "values[0].tensor.sizes"),
        (_value(tensor=NativeTensor(FLOAT, [5, 20], b"\1\1")), "values[0].tensor.dim_order"),
        (_value(tensor=NativeTensor(FLOAT, [5, 21], b"\0\1")), "values[0].nbytes"),
        (_value(tensor=NativeTensor(FLOAT, [2**31 - 1] * 16, bytes(range(16)))), "values[0].nbytes"),
        (_value(nbytes=399), "values[0].nbytes"),
        (_value(nbytes=0), "values[0].nbytes"),
        # Tables that make sense, but are not what the code is compiled for.
        (_value(nbytes=2**63), "objects"),
        (_value(identifier=7), "objects"),
        (_value(tensor=NativeTensor(FLOAT, [20, 5], b"\0\1")), "objects"),
        (_value(tensor=NativeTensor(FLOAT, [5, 20], b"\1\0")), "objects"),
        (_value(tensor=NativeTensor(ScalarType.INT, [5, 20], b"\0\1")), "objects"),
        (_extra, "objects"),
        (_none, "objects"),
    ],
)
def test_damaged_tables(change: Callable[[NativeProgram], None], where: str) -> None:
    program = read_native(blob(values=True))
    change(program)
    with pytest.raises(InvalidFile) as raised:
        init(program, limit=1 << 20)
    assert raised.value.code is Error.DelegateInvalidCompatibility
    assert raised.value.where == where


def test_code_that_keeps_values_without_a_table() -> None:
    """And the reverse: a table of values for code that takes no memory for them."""
    program = read_native(blob())
    program.values = read_native(blob(values=True)).values
    with pytest.raises(InvalidFile, match="the code is for other sizes"):
        init(program)


def test_a_call_with_larger_sizes_than_the_memory() -> None:
    """Nothing runs: the sizes are those of the call, the memory that of the table."""
    program = read_native(blob(text=SIZED, values=True))
    symbol = interface_symbol(program)
    program.values[0].nbytes = 100
    with patch("et_backends.native.runtime.backend.interface_symbol", return_value=symbol):
        handle = init(program)
    tracer = Values()
    outputs = [
        Tensor(FLOAT, sizes, storage=np.zeros(1440, np.uint8), dynamism=TensorShapeDynamism.DYNAMIC_BOUND)
        for sizes in ((9, 20), (360,))
    ]
    x, w = np.ones((3, 7), np.float32), np.ones((7, 20), np.float32)
    with pytest.raises(InvalidFile, match="has 240 bytes, its memory 100") as raised:
        run(handle, [tensor(x), tensor(w), *outputs], tracer)
    assert raised.value.code is Error.DelegateInvalidCompatibility
    assert not tracer.found
    assert not outputs[1].array.any()


def test_every_instruction_set_has_the_same_table() -> None:
    both = read_native(blob(values=True))
    assert read_native(blob("x86-64-v4", values=True)).values == both.values
    assert TEXT.count("edge.") > len(both.values) == 2
