"""Single kernels: et-vm's portable and aten libraries against torch eager and the stock runtime.

    python -m bench.kernels [--only TEXT] [--without-stock] [--threads N]

Each case is a program that calls one operator four times, so that copying inputs and outputs weighs little;
eager calls it as often. Times are per call, ratios are of medians over rounds in which all
took turns. Goals, against the stock runtime: the geometric mean of portable is a third or less, and no kernel takes
more than one and a half times as long.
"""

from __future__ import annotations

import argparse
import os
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from bench.measure import median_ratio, print_table, progress, rounds_for, show_time, take_turns, verdict
from bench.subjects import quiet
from et_schema.program import (
    AllocationDetails,
    Bool,
    Chain,
    Double,
    EValue,
    ExecutionPlan,
    Instruction,
    Int,
    IntList,
    KernelCall,
    Null,
    Operator,
    Program,
    String,
    SubsegmentOffsets,
    Tensor,
    TensorList,
)
from et_schema.pte import serialize_pte
from et_schema.scalar_type import ScalarType

CALLS = 4
MEAN_GOAL = 1 / 3
WORST_GOAL = 1.5
ALIGNMENT = 64
A = torch.ops.aten


@dataclass(frozen=True)
class Case:
    """One operator on one set of arguments: `eager(*arguments)` is what `operator` computes."""

    name: str
    operator: str
    eager: Callable[..., Any]
    arguments: tuple[Any, ...]


def _normal(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


def _convolution(
    name: str, channels: int, filters: int, size: int, kernel: int, stride: int, groups: int
) -> Case:
    pad = kernel // 2
    return Case(
        name,
        "aten::convolution.out",
        A.convolution.default,
        (
            _normal(1, channels, size, size),
            _normal(filters, channels // groups, kernel, kernel),
            _normal(filters),
            [stride, stride],
            [pad, pad],
            [1, 1],
            False,
            [0, 0],
            groups,
        ),
    )


def cases() -> list[Case]:
    """The work of the example models, and of their relatives."""
    image, plane = _normal(1, 96, 112, 112), _normal(1, 64, 112, 112)
    hidden, scores = _normal(64, 1024), _normal(4, 64, 64)
    channel, width = _normal(96).abs(), _normal(1024)
    mask = hidden > 0
    return [
        _convolution("conv 1x1, 16 to 96, 112²", 16, 96, 112, 1, 1, 1),
        _convolution("conv 1x1, 960 to 160, 7²", 960, 160, 7, 1, 1, 1),
        _convolution("conv 3x3, 64 to 64, 56²", 64, 64, 56, 3, 1, 1),
        _convolution("conv 3x3, 512 to 512, 7²", 512, 512, 7, 3, 1, 1),
        _convolution("conv 7x7 stride 2, 3 to 64, 224²", 3, 64, 224, 7, 2, 1),
        _convolution("depthwise 3x3, 96, 112²", 96, 96, 112, 3, 1, 96),
        _convolution("depthwise 3x3 stride 2, 144, 56²", 144, 144, 56, 3, 2, 144),
        _convolution("depthwise 3x3, 960, 7²", 960, 960, 7, 3, 1, 960),
        Case("mm 64x256 by 256x1024", "aten::mm.out", A.mm.default, (_normal(64, 256), _normal(256, 1024))),
        Case("bmm 4 x 64x64 by 64x64", "aten::bmm.out", A.bmm.default, (scores, scores)),
        Case(
            "addmm 64x256 by 256x256",
            "aten::addmm.out",
            lambda bias, a, b, beta, alpha: A.addmm(bias, a, b),
            (_normal(256), _normal(64, 256), _normal(256, 256), 1, 1),
        ),
        Case(
            "batch norm, 96, 112²",
            "aten::_native_batch_norm_legit_no_training.out",
            A._native_batch_norm_legit_no_training.default,
            (image, channel, channel, channel, channel, 0.1, 1e-5),
        ),
        Case(
            "layer norm 64x1024",
            "aten::native_layer_norm.out",
            A.native_layer_norm.default,
            (hidden, [1024], width, width, 1e-5),
        ),
        Case("softmax 4x64x64", "aten::_softmax.out", A._softmax.default, (scores, -1, False)),
        Case("hardtanh, 96, 112²", "aten::hardtanh.out", A.hardtanh.default, (image, 0.0, 6.0)),
        Case("relu, 64, 112²", "aten::relu.out", A.relu.default, (plane,)),
        Case("add, 96, 112²", "aten::add.out", lambda a, b, alpha: A.add.Tensor(a, b), (image, image, 1)),
        Case("mul 64x1024", "aten::mul.out", A.mul.Tensor, (hidden, hidden)),
        Case("gelu 64x1024", "aten::gelu.out", lambda x, _: A.gelu(x), (hidden, "none")),
        Case("sigmoid 64x1024", "aten::sigmoid.out", A.sigmoid.default, (hidden,)),
        Case("where 64x1024", "aten::where.self_out", A.where.self, (mask, hidden, hidden)),
        Case(
            "max pool 3x3 stride 2, 64, 112²",
            "aten::max_pool2d_with_indices.out",
            A.max_pool2d_with_indices.default,
            (plane, [3, 3], [2, 2], [1, 1], [1, 1], False),
        ),
        Case(
            "mean over 7², 1280",
            "aten::mean.out",
            lambda x, dim, keep, _: A.mean.dim(x, dim, keep),
            (_normal(1, 1280, 7, 7), [-1, -2], True, None),
        ),
        Case(
            "permute 64x4x64",
            "aten::permute_copy.out",
            A.permute_copy.default,
            (_normal(64, 4, 64), [1, 0, 2]),
        ),
        Case(
            "transpose 1024x256",
            "aten::permute_copy.out",
            A.permute_copy.default,
            (_normal(1024, 256), [1, 0]),
        ),
        Case(
            "slice 64x1024",
            "aten::slice_copy.Tensor_out",
            A.slice_copy.Tensor,
            (hidden, 1, 0, 512, 1),
        ),
        Case(
            "embedding 512x256, 64",
            "aten::embedding.out",
            A.embedding.default,
            (_normal(512, 256), torch.arange(64) * 7, -1, False, False),
        ),
        Case("add 4", "aten::add.out", lambda a, b, alpha: A.add.Tensor(a, b), (_normal(4), _normal(4), 1)),
    ]


def _scalar(value: object) -> Any:
    kinds: dict[type, type[Any]] = {bool: Bool, int: Int, float: Double, str: String}
    return Null() if value is None else kinds[type(value)](value)


class _Values:
    """The values of a program under construction, and the bytes of its arena."""

    def __init__(self) -> None:
        self.values: list[EValue] = []
        self.arena = 0

    def add(self, value: Any) -> int:
        self.values.append(EValue(value))
        return len(self.values) - 1

    def tensor(self, tensor: torch.Tensor) -> int:
        name = str(tensor.dtype).removeprefix("torch.")
        place = self.arena
        self.arena += -(-tensor.nbytes // ALIGNMENT) * ALIGNMENT
        return self.add(
            Tensor(
                scalar_type=ScalarType.from_torch_name(name),
                sizes=list(tensor.shape),
                dim_order=bytes(range(tensor.dim())),
                allocation_info=AllocationDetails(1, place),
            )
        )


def program_of(case: Case) -> tuple[bytes, list[torch.Tensor]]:
    """A file that calls the operator CALLS times on its inputs, and the inputs."""
    made = _Values()
    inputs: list[torch.Tensor] = []
    places: list[int] = []
    arguments: list[int] = []
    for value in case.arguments:
        if isinstance(value, torch.Tensor):
            inputs.append(value)
            places.append(made.tensor(value))
            arguments.append(places[-1])
        elif isinstance(value, list):
            arguments.append(made.add(IntList([made.add(Int(item)) for item in value])))
        else:
            arguments.append(made.add(_scalar(value)))
    result = case.eager(*case.arguments)
    results = [result] if isinstance(result, torch.Tensor) else list(result)
    outs = [made.tensor(tensor) for tensor in results]
    again = outs[0] if len(outs) == 1 else made.add(TensorList(outs))
    name, _, overload = case.operator.partition(".")
    call = Instruction(KernelCall(0, [*arguments, *outs, again]))
    plan = ExecutionPlan(
        name="forward",
        values=made.values,
        inputs=places,
        outputs=outs[:1],
        chains=[Chain(instructions=[call] * CALLS)],
        operators=[Operator(name, overload)],
        non_const_buffer_sizes=[0, made.arena],
    )
    return serialize_pte(Program(execution_plan=[plan], constant_segment=SubsegmentOffsets(0, [0]))), inputs


def row(case: Case, with_stock: bool) -> tuple[list[str], float | None]:
    """The cells of a case, and the ratio of portable to stock."""
    from et_vm.runtime import Runtime

    file, inputs = program_of(case)
    arrays = [tensor.numpy() for tensor in inputs]
    portable = Runtime.get().load_program(file).load_method("forward")
    aten = Runtime.get().load_program(file, kernels="aten").load_method("forward")

    def eager() -> None:
        with torch.inference_mode():
            for _ in range(CALLS):
                case.eager(*case.arguments)

    runs: dict[str, Callable[[], object]] = {
        "portable": lambda: portable.execute(arrays, clone_outputs=False),
        "aten": lambda: aten.execute(inputs, clone_outputs=False),
        "eager": eager,
    }
    if with_stock:
        from executorch.runtime import Runtime as StockRuntime

        with quiet():
            stock: Any = StockRuntime.get().load_program(file).load_method("forward")
        runs["stock"] = lambda: stock.execute(inputs)
    pace = sum(times[0] for times in take_turns(runs, 1, warmup=0).values())
    seconds = take_turns(runs, rounds_for(pace, budget=3, most=30), warmup=0)
    times = [show_time(statistics.median(seconds[name]) / CALLS) for name in runs]
    ratios = [
        median_ratio(seconds["portable"], seconds["eager"]),
        median_ratio(seconds["aten"], seconds["eager"]),
    ]
    if with_stock:
        ratios.append(median_ratio(seconds["portable"], seconds["stock"]))
    cells = [case.name, *times, *(f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.3f}" for ratio in ratios)]
    return cells, ratios[2] if with_stock else None


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.kernels",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose name contains this")
    parser.add_argument("--without-stock", action="store_true", help="leave the stock runtime out")
    parser.add_argument(
        "--threads", type=int, default=os.cpu_count(), help="torch's (numpy's: OMP_NUM_THREADS)"
    )
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    head = ["kernel", "portable", "aten", "torch eager", "portable / eager", "aten / eager"]
    if not options.without_stock:
        head[4:4] = ["stock"]
        head.append("portable / stock")
    chosen = [case for case in cases() if options.only in case.name]
    measured = [row(case, not options.without_stock) for case in progress(chosen, "kernels")]
    print_table(head, [cells for cells, _ in measured])
    to_stock = [ratio for _, ratio in measured if ratio is not None]
    if to_stock:
        mean = statistics.geometric_mean(to_stock)
        print(f"\ngeometric mean of portable / stock {mean:.3f}, {verdict(mean, MEAN_GOAL)}")
        print(f"largest {max(to_stock):.2f}, {verdict(max(to_stock), WORST_GOAL)}")


if __name__ == "__main__":
    main()
