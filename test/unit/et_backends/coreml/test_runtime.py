"""Evaluation of ML programs: results by hand, and what is refused."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest

from et_backends.coreml.format.blob import CoremlModel
from et_backends.coreml.format.mil import MilOperation, MilProgram, MilType, MilTypeName, MilValue
from et_backends.coreml.runtime.program import CoremlProgram
from et_schema.errors import Error, ExecutorchError, InvalidFile
from et_vm.work import CALL

F32, I32, BOOL = MilTypeName.FLOAT32, MilTypeName.INT32, MilTypeName.BOOL


def program(type: str, inputs: dict[str, MilType], output: MilType, **constants: Any) -> CoremlProgram:
    """A program of one operation, loaded."""
    operations: list[MilOperation] = []
    for name, value in constants.items():
        if isinstance(value, str):
            made = MilValue(MilType(MilTypeName.STRING), strings=(value,))
        else:
            array = np.array(value)
            kind = {"b": BOOL, "i": I32, "f": F32}[array.dtype.kind]
            size = {BOOL: np.bool_, I32: np.int32, F32: np.float32}[kind]
            made = MilValue(MilType(kind, array.shape), array.astype(size).tobytes())
        operations.append(MilOperation("const", {}, ((name, made.type),), made))
    bound = {name: (name,) for name in (*inputs, *constants)}
    operations.append(MilOperation(type, bound, (("made", output),)))
    made_program = MilProgram(tuple(inputs.items()), ("made",), tuple(operations))
    return CoremlProgram(CoremlModel(made_program, tuple(inputs), ("made",), ""))


def vector(*numbers: float) -> np.ndarray[Any, Any]:
    return np.array(numbers, np.float32)


VECTOR = MilType(F32, (3,))


@pytest.mark.parametrize(
    ("type", "constants", "expected"),
    [
        ("log", {"epsilon": 1.0}, np.log1p(vector(0, 1, 3))),
        ("inverse", {"epsilon": 1.0}, vector(1, 0.5, 0.25)),
        ("thresholded_relu", {"alpha": 1.0}, vector(0, 1, 3)),
        ("sigmoid_hard", {"alpha": 0.25, "beta": 0.5}, vector(0.5, 0.75, 1)),
        ("clip", {"alpha": 0.5, "beta": 2.0}, vector(0.5, 1, 2)),
        ("reverse", {"axes": [0]}, vector(3, 1, 0)),
        ("cumsum", {"axis": 0}, vector(0, 1, 4)),
        ("slice_by_index", {"begin": [-1], "end": [-9], "stride": [-1], "end_mask": [True]}, vector(3, 1, 0)),
    ],
)
def test_operations_of_a_vector(type: str, constants: dict[str, Any], expected: Any) -> None:
    (made,) = program(type, {"x": VECTOR}, VECTOR, **constants).run([vector(0, 1, 3)])
    np.testing.assert_allclose(made, expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("type", "constants", "message"),
    [
        ("no_such_thing", {}, "the operation is not supported"),
        ("relu", {"alpha": 1.0}, "the parameter 'alpha' is not supported"),
        ("gelu", {"mode": "LINEAR"}, "the mode 'LINEAR' is not supported"),
        ("gelu", {"mode": 3}, "'mode' is not constant text"),
        ("tile", {"reps": [1 << 40]}, "its sizes would be"),
        ("tile", {"reps": [2, 2]}, "2 repetitions for 1 dimensions"),
        ("pad", {"pad": [1, 1 << 30], "mode": "constant"}, "its sizes would be"),
        ("pad", {"pad": [1, 1], "mode": "reflect"}, "other than a constant"),
        ("softmax", {"axis": 3}, "no dimension 3 of 1"),
        ("softmax", {"axis": [0, 0]}, "'axis' is not a number"),
        ("reshape", {"shape": [4]}, "the output is"),
        ("cast", {"dtype": "complex"}, "dtype 'complex'"),
        ("max_pool", {"kernel_sizes": [2], "pad_type": "custom"}, "windows of 1 dimensions"),
        ("softmax", {"axis": float("inf")}, "infinity"),
        ("tile", {"reps": [float("inf")]}, "infinity"),
    ],
)
def test_operations_that_are_refused(type: str, constants: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidFile, match=message) as caught:
        program(type, {"x": VECTOR}, VECTOR, **constants)
    assert caught.value.code is Error.DelegateInvalidCompatibility
    assert caught.value.where is not None
    assert caught.value.where.startswith("main.operations[")


def test_indices_out_of_range() -> None:
    loaded = program(
        "gather", {"x": VECTOR, "indices": MilType(I32, (2,))}, MilType(F32, (2,)), axis=0, batch_dims=0
    )
    (made,) = loaded.run([vector(1, 2, 3), np.array([2, -3], np.int32)])
    np.testing.assert_array_equal(made, vector(3, 1))
    with pytest.raises(ExecutorchError, match="gather: an index is not from -3 to 2"):
        loaded.run([vector(1, 2, 3), np.array([2, 3], np.int32)])


def test_a_result_of_another_type_than_the_program_says() -> None:
    loaded = program("equal", {"x": VECTOR, "y": VECTOR}, VECTOR)
    with pytest.raises(ExecutorchError, match=r"equal: made is bool\[3\], not float32\[3\]"):
        loaded.run([vector(1, 2, 3)] * 2)
    with pytest.raises(InvalidFile, match=r"add: operands of sizes \[3\], \[2\]"):
        program("add", {"x": VECTOR, "y": MilType(F32, (2,))}, VECTOR)


def test_work_is_counted() -> None:
    small = program("relu", {"x": VECTOR}, VECTOR)
    weights = np.zeros((64, 3), np.float32)
    large = program("linear", {"x": MilType(F32, (5, 3))}, MilType(F32, (5, 64)), weight=weights)
    # A function takes as long as so many visits, at most.
    assert small.work == CALL + 2 * 3 + 20 * 3
    products = 5 * 64 * 3
    assert products <= large.work - CALL < 3 * products


def test_an_array_of_a_weight_file_is_not_copied() -> None:
    data = struct.pack("<3f", 1, 2, 3)
    value = MilValue(VECTOR, memoryview(data))
    operations = (
        MilOperation("const", {}, (("w", VECTOR),), value),
        MilOperation("identity", {"x": ("w",)}, (("y", VECTOR),)),
    )
    model = CoremlModel(MilProgram((), ("y",), operations), (), ("y",), "")
    np.testing.assert_array_equal(CoremlProgram(model).run([])[0], vector(1, 2, 3))


@pytest.mark.parametrize(
    ("inputs", "outputs", "names"),
    [
        ({"x": MilType(MilTypeName.STRING, (3,))}, (("y", VECTOR),), ("y",)),
        ({"x": VECTOR}, (("y", MilType(MilTypeName.STRING, (3,))),), ("y",)),
        ({"x": VECTOR}, (("y", VECTOR),), ("t",)),
    ],
    ids=["input", "result", "output"],
)
def test_text_that_is_no_constant(inputs: dict[str, MilType], outputs: Any, names: tuple[str, ...]) -> None:
    text = MilValue(MilType(MilTypeName.STRING), strings=("text",))
    operations = (
        MilOperation("const", {}, (("t", text.type),), text),
        MilOperation("shape", {"x": ("x",)}, outputs),
    )
    made = MilProgram(tuple(inputs.items()), names, operations)
    with pytest.raises(InvalidFile, match="is text") as caught:
        CoremlProgram(CoremlModel(made, ("x",), names, ""))
    assert caught.value.code is Error.DelegateInvalidCompatibility


def test_more_results_than_an_operation_has() -> None:
    operation = MilOperation("relu", {"x": ("x",)}, (("y", VECTOR), ("z", VECTOR)))
    made = MilProgram((("x", VECTOR),), ("y",), (operation,))
    with pytest.raises(InvalidFile, match="relu: 1 results, not 2") as caught:
        CoremlProgram(CoremlModel(made, ("x",), ("y",), ""))
    assert caught.value.code is Error.DelegateInvalidCompatibility


def test_a_window_of_infinity_over_integers() -> None:
    image, made = MilType(I32, (1, 1, 2, 2)), MilType(I32, (1, 1, 3, 3))
    window = {"kernel_sizes": [2, 2], "pad": [1, 1, 1, 1], "pad_type": "custom"}
    loaded = program("max_pool", {"x": image}, made, **window)
    with pytest.raises(ExecutorchError, match="max_pool: ") as caught:
        loaded.run([np.ones((1, 1, 2, 2), np.int32)])
    assert caught.value.code is Error.DelegateInvalidCompatibility


@pytest.mark.parametrize("type", ["resize_bilinear", "avg_pool"])
def test_loading_takes_no_memory_for_elements(type: str) -> None:
    """Whose number anybody may write."""
    size = 1 << 30
    if type == "resize_bilinear":
        sizes = {"target_size_height": size, "target_size_width": 1, "sampling_mode": "UNALIGN_CORNERS"}
        made = program(type, {"x": MilType(F32, (1, 1))}, MilType(F32, (size, 1)), **sizes)
    else:
        image = MilType(F32, (1, 1, size, 1 << 20))
        window = {"kernel_sizes": [1, 1], "pad_type": "valid", "exclude_padding_from_average": True}
        made = program(type, {"x": image}, image, **window)
    assert made.work > size
