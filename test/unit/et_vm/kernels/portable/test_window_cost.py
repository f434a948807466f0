"""Arguments that are numbers of the call ask for no more memory than the tensors beside them are in proportion to."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from support.cost import memory_of
from support.vm_programs import BOUND, Build

from et_schema.errors import Error, Trap
from et_schema.program import Tensor
from et_schema.scalar_type import ScalarType
from et_vm.program import Program

HUGE = 1 << 20
MEMORY = 1 << 20
"""Bytes that a call takes whose tensors have some hundreds."""


def convolution(
    build: Build, *, padding: int = 0, stride: int = 1, dilation: int = 1, back: bool = False
) -> None:
    x, out = build.tensor(1, 2, 4, 4), build.tensor(1, 2, 2, 2, dynamism=BOUND)
    weight = build.constant(np.ones((2, 2, 3, 3), np.float32))
    numbers = (build.ints(number, number) for number in (stride, padding, dilation))
    no, one = build.scalar(back), build.scalar(1)
    build.call(
        "aten::convolution.out", x, weight, build.scalar(None), *numbers, no, build.ints(0, 0), one, out, out
    )


def max_pool(
    build: Build, taps: int, padding: int, *, stride: int = 1, dilation: int = 1, ceil: bool = False
) -> None:
    x, out = build.tensor(1, 2, 4, 4), build.tensor(1, 2, 5, 5, dynamism=BOUND)
    places = build.tensor(1, 2, 5, 5, dtype=ScalarType.LONG, dynamism=BOUND)
    numbers = (build.ints(number, number) for number in (taps, stride, padding, dilation))
    build.call(
        "aten::max_pool2d_with_indices.out",
        x,
        *numbers,
        build.scalar(ceil),
        out,
        places,
        build.tensors(out, places),
    )


def average_pool(build: Build, taps: int, padding: int) -> None:
    x, out = build.tensor(1, 2, 4, 4), build.tensor(1, 2, 5, 5, dynamism=BOUND)
    numbers = (build.ints(number, number) for number in (taps, 1, padding))
    no = build.scalar(False)
    build.call("aten::avg_pool2d.out", x, *numbers, no, no, build.scalar(None), out, out)


def im2col(build: Build) -> None:
    x, out = build.tensor(1, 2, 4, 4), build.tensor(1, 18, 4, dynamism=BOUND)
    numbers = (build.ints(number, number) for number in (3, HUGE, HUGE, HUGE))
    build.call("aten::im2col.out", x, *numbers, out, out)


def col2im(build: Build) -> None:
    x, out = build.tensor(1, 18, 9), build.tensor(1, 2, 4, 4, dynamism=BOUND)
    numbers = (build.ints(number, number) for number in (4, 3, HUGE, HUGE, HUGE))
    build.call("aten::col2im.out", x, *numbers, out, out)


def pad(build: Build) -> None:
    x, out = build.tensor(4, 4), build.tensor(4, 8, dynamism=BOUND)
    build.call("aten::constant_pad_nd.out", x, build.ints(HUGE, HUGE), build.scalar(0), out, out)


def reflected(build: Build) -> None:
    x, out = build.tensor(1, 4, 4), build.tensor(1, 4, 8, dynamism=BOUND)
    build.call("aten::replication_pad1d.out", x, build.ints(HUGE, HUGE), out, out)


def repeat(build: Build) -> None:
    x, out = build.tensor(4), build.tensor(8, dynamism=BOUND)
    build.call("aten::repeat.out", x, build.ints(HUGE), out, out)


def expand(build: Build) -> None:
    x, out = build.tensor(1), build.tensor(8, dynamism=BOUND)
    build.call("aten::expand_copy.out", x, build.ints(HUGE), build.scalar(False), out, out)


def unfold(build: Build) -> None:
    x, out = build.tensor(1000), build.tensor(10, 10, dynamism=BOUND)
    build.call("aten::unfold_copy.out", x, build.scalar(0), build.scalar(500), build.scalar(1), out, out)


def resize(name: str) -> Callable[[Build], None]:
    def fill(build: Build) -> None:
        x, out = build.tensor(1, 2, 4, 4), build.tensor(1, 2, 8, 8, dynamism=BOUND)
        size, none, no = build.ints(HUGE, HUGE), build.scalar(None), build.scalar(False)
        arguments = (x, size, none, none) if "nearest" in name else (x, size, no, none, none)
        build.call(name, *arguments, out, out)

    return fill


def full(build: Build) -> None:
    out = build.tensor(8, dynamism=BOUND)
    build.call("aten::full.out", build.ints(HUGE), build.scalar(1.0), out, out)


CALLS: dict[str, Callable[[Build], None]] = {
    "convolution, padding": lambda build: convolution(build, padding=HUGE),
    "convolution, padding and stride": lambda build: convolution(build, padding=HUGE, stride=2 * HUGE),
    "convolution, padding and dilation": lambda build: convolution(build, padding=HUGE, dilation=HUGE),
    "transposed convolution": lambda build: convolution(
        build, stride=HUGE, padding=HUGE, dilation=HUGE, back=True
    ),
    "max_pool, window": lambda build: max_pool(build, 2 * HUGE, HUGE),
    "max_pool, dilation": lambda build: max_pool(build, 3, HUGE, dilation=HUGE),
    "avg_pool": lambda build: average_pool(build, 2 * HUGE, HUGE),
    "im2col": im2col,
    "col2im": col2im,
    "pad": pad,
    "replication_pad": reflected,
    "repeat": repeat,
    "expand": expand,
    "unfold": unfold,
    "nearest": resize("aten::upsample_nearest2d.out"),
    "bilinear": resize("aten::upsample_bilinear2d.out"),
    "antialias": resize("aten::_upsample_bilinear2d_aa.out"),
    "full": full,
}


@pytest.mark.parametrize("name", CALLS)
def test_arguments_without_measure(name: str) -> None:
    build = Build()
    CALLS[name](build)
    arguments = build.plan.chains[0].instructions[0].instr_args.args
    x = build.plan.values[arguments[0]].val
    inputs = [np.ones(x.sizes, np.float32)] if isinstance(x, Tensor) else []
    build.inputs(*arguments[: len(inputs)])
    build.outputs(arguments[-1])
    method = Program.load(build.file()).load_method("forward")
    code = None

    def execute() -> None:
        nonlocal code
        with pytest.raises(Trap) as caught:
            method.execute(inputs)
        code = caught.value.code
        assert caught.value.instruction == 0

    execute()  # what is imported once
    assert memory_of(execute) < MEMORY
    assert code in (Error.InvalidArgument, Error.NotSupported)


def test_taps_beyond_the_image() -> None:
    """They take no memory."""
    build = Build()
    max_pool(build, 2, 0, stride=4 * HUGE, dilation=HUGE, ceil=True)
    arguments = build.plan.chains[0].instructions[0].instr_args.args
    image = np.arange(32, dtype=np.float32).reshape(1, 2, 4, 4)
    build.inputs(arguments[0])
    build.outputs(arguments[-3])
    method = Program.load(build.file()).load_method("forward")
    np.testing.assert_array_equal(method.execute([image])[0], image[:, :, :1, :1])
    assert memory_of(lambda: method.execute([image])) < MEMORY


def test_a_count_that_is_data() -> None:
    """One number says how long the result is, which its tensor does not allow."""
    build = Build()
    x, out = build.tensor(1, dtype=ScalarType.LONG), build.tensor(8, dtype=ScalarType.LONG, dynamism=BOUND)
    build.call("aten::bincount.out", x, build.scalar(None), build.scalar(0), out, out)
    build.inputs(x)
    build.outputs(out)
    method = Program.load(build.file()).load_method("forward")
    assert method.execute([np.array([3])])[0].tolist() == [0, 0, 0, 1]

    def count() -> None:
        with pytest.raises(Trap, match="bytes do not fit"):
            method.execute([np.array([1 << 30])])

    assert memory_of(count) < MEMORY
