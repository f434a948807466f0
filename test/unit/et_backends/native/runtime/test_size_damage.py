"""Sizes that are known at run time only: what the tables of a blob and the arguments of a call may say of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from support.native_blobs import SIZED, blob, tensor

from et_backends.native.format import (
    NativeProgram,
    NativeSize,
    NativeWord,
    SizeFunction,
    evaluate_size,
    read_native,
)
from et_backends.native.format import serialize_native as serialize
from et_backends.native.runtime.backend import NativeBackend
from et_schema.errors import Error, ExecutorchError, InvalidFile
from et_schema.program import TensorShapeDynamism
from et_schema.scalar_type import ScalarType
from et_vm.backend import BackendExecuteContext, BackendInitContext, NativeOptions
from et_vm.platform import Platform
from et_vm.values import Tensor

CONTEXT = BackendExecuteContext(Platform(), None, "forward", 0)
LARGEST = 2**31 - 1


def init(data: bytes) -> object:
    context = BackendInitContext(Platform(), None, "forward", {}, native=NativeOptions(allowed=True))
    return NativeBackend().init(context, memoryview(data), [])


@pytest.mark.parametrize(("rows", "inner"), [(1, 2), (9, 40), (5, 17), (3, 33)])
def test_outputs_get_their_sizes(rows: int, inner: int) -> None:
    handle = init(blob(text=SIZED))
    args = _call(rows, inner)
    NativeBackend().execute(CONTEXT, handle, args)
    x, w = args[0].array, args[1].array
    product = np.exp(x @ w - (x @ w).max(1, keepdims=True))
    np.testing.assert_allclose(args[2].array, product / product.sum(1, keepdims=True), rtol=1e-5)
    np.testing.assert_allclose(args[3].array, np.exp(x).reshape(-1), rtol=1e-6)


def _call(*inner: int) -> list[Tensor]:
    """Arguments for rows and inner size, with outputs of the largest sizes."""
    rows, size = inner
    random = np.random.default_rng(0)
    x = tensor(random.standard_normal((rows, size)).astype(np.float32))
    w = tensor(random.standard_normal((size, 20)).astype(np.float32))
    return [x, w, _dynamic((9, 20)), _dynamic((360,))]


def _dynamic(sizes: tuple[int, ...]) -> Tensor:
    storage = np.zeros(int(np.prod(sizes)) * 4, np.uint8)
    return Tensor(ScalarType.FLOAT, sizes, storage=storage, dynamism=TensorShapeDynamism.DYNAMIC_BOUND)


@pytest.mark.parametrize(
    ("shapes", "said"),
    [
        (((10, 2), (2, 20)), "the code is for 1 to 9 in dimension 0"),
        (((1, 41), (41, 20)), "the code is for 2 to 40 in dimension 1"),
        (((1, 1), (1, 20)), "the code is for 2 to 40 in dimension 1"),
        (((2, 5), (4, 20)), "argument 1 is"),
        (((2, 5), (5, 21)), "argument 1 is"),
        (((2, 5, 1), (5, 20)), "argument 0 is"),
        (((2,), (5, 20)), "argument 0 has no dimension 1"),
    ],
)
def test_other_sizes_are_refused(shapes: tuple[tuple[int, ...], ...], said: str) -> None:
    handle = init(blob(text=SIZED))
    given = [tensor(np.zeros(shape, np.float32)) for shape in shapes]
    args = [*given, _dynamic((9, 20)), _dynamic((360,))]
    with pytest.raises(ExecutorchError, match=said) as raised:
        NativeBackend().execute(CONTEXT, handle, args)
    assert raised.value.code is Error.InvalidArgument
    # The next call is as if there had been none.
    good = _call(4, 7)
    NativeBackend().execute(CONTEXT, handle, good)
    assert good[3].sizes == (28,)


def test_an_output_without_room() -> None:
    handle = init(blob(text=SIZED))
    args = [*_call(9, 40)[:2], _dynamic((9, 20)), _dynamic((359,))]
    with pytest.raises(ExecutorchError) as raised:
        NativeBackend().execute(CONTEXT, handle, args)
    assert raised.value.code is Error.NotSupported


def _word(**values: int) -> Callable[[NativeProgram], None]:
    def change(program: NativeProgram) -> None:
        for name, value in values.items():
            setattr(program.words[0], name, value)

    return change


def _code(*code: int) -> Callable[[NativeProgram], None]:
    def change(program: NativeProgram) -> None:
        program.sizes[0].code = list(code)

    return change


def _size(program: NativeProgram) -> None:
    program.outputs[0].sizes = [~len(program.sizes), 20]


def _arena(program: NativeProgram) -> None:
    program.arena_size -= 64


def _number(kind: str, place: int) -> Callable[[NativeProgram], None]:
    def change(program: NativeProgram) -> None:
        getattr(program, kind)[place].is_number = True

    return change


def _no_words(program: NativeProgram) -> None:
    program.words = []


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (_word(input=2), "words[0]"),
        (_word(dim=2), "words[0]"),
        (_word(least=-1), "words[0]"),
        (_word(least=10), "words[0]"),
        (_word(most=LARGEST + 1), "words[0]"),
        (_size, "outputs[0].sizes"),
        (_no_words, "sizes[0].code"),
        (_code(), "sizes[0].code"),
        (_code(1), "sizes[0].code"),
        (_code(1, 2), "sizes[0].code"),
        (_code(1, -1), "sizes[0].code"),
        (_code(2, 0), "sizes[0].code"),
        (_code(1, 0, 1, 0), "sizes[0].code"),
        (_code(1, 0, 1, 0, 8, 0), "sizes[0].code"),
        (_code(1, 0, 1, 0, -2, 0), "sizes[0].code"),
        (_code(*[0, 1] * 600, *[2, 0] * 599), "sizes[0].code"),
        (_number("inputs", 1), "inputs[1].is_number"),
        (_number("outputs", 0), "outputs[0].is_number"),
        # Tables that make sense, but are not what the code is compiled for.
        (_word(most=10), "objects"),
        (_word(most=LARGEST), "objects"),
        (_word(least=0), "objects"),
        (_code(0, 4), "objects"),
        (_arena, "objects"),
        (_number("inputs", 0), "objects"),
    ],
)
def test_damaged_tables(change: Callable[[NativeProgram], None], where: str) -> None:
    program = read_native(blob(text=SIZED))
    change(program)
    with pytest.raises(InvalidFile) as raised:
        init(serialize(program))
    assert raised.value.code is Error.DelegateInvalidCompatibility
    assert raised.value.where == where


F = SizeFunction


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ([F.WORD, 0], 7),
        ([F.WORD, 0, F.NUMBER, 2, F.FLOORDIV, 0], 3),
        ([F.WORD, 0, F.NUMBER, 2, F.MOD, 0], 1),
        ([F.WORD, 0, F.WORD, 1, F.MAX, 0, F.NUMBER, -1, F.ADD, 0], 8),
        ([F.WORD, 0, F.WORD, 1, F.MIN, 0, F.NUMBER, 3, F.MUL, 0], 21),
    ],
)
def test_sizes_are_computed(code: list[int], found: int) -> None:
    assert evaluate_size(NativeSize(code), [7, 9]) == found


@pytest.mark.parametrize(
    "code",
    [
        [F.NUMBER, -1],
        [F.NUMBER, LARGEST + 1],
        [F.NUMBER, 2**40, F.NUMBER, 2**40, F.MUL, 0, F.NUMBER, 0, F.MUL, 0],
        [F.WORD, 0, F.NUMBER, 0, F.FLOORDIV, 0],
        [F.WORD, 0, F.NUMBER, -3, F.MOD, 0],
    ],
)
def test_sizes_out_of_range(code: list[int]) -> None:
    with pytest.raises(ExecutorchError) as raised:
        evaluate_size(NativeSize(code), [7])
    assert raised.value.code is Error.InvalidArgument


def test_words_stand_for_themselves() -> None:
    program = read_native(blob(text=SIZED))
    assert program.words == [NativeWord(0, 0, 1, 9), NativeWord(0, 1, 2, 40)]
