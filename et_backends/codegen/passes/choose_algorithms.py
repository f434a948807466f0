"""Choice of convolution algorithms by a cost model.

Winograd's algorithm multiplies less and moves more than the definition: which one is faster depends on the sizes.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Final

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, FloatAttr, ModuleOp, StringAttr, f64
from xdsl.passes import ModulePass

from et_backends.codegen.dialect import SECONDS, KernelOp
from et_backends.codegen.kernels.pointwise_rules import anchor_of
from et_backends.codegen.kernels.windows import Window, window_of
from et_backends.codegen.kernels.winograd import transforms_filters
from et_ir.analysis.choices import Candidate, Choice, note, shapes_of
from et_ir.diagnostics import PassReport, diagnose
from et_ir.dialects.schema.tensors import tensor_type

__all__ = ["ALGORITHMS", "ChooseAlgorithmsPass", "costs", "has_choice", "set_seconds"]

ALGORITHMS: Final = {"direct": "convolution", "winograd_2": "winograd_2", "winograd_4": "winograd_4"}
"""Forms of kernels, by the names of the algorithms."""

LANES: Final = 16
"""Elements of a vector. Shorter vectors make all of the costs larger alike."""
FUSED: Final = 2
"""Vectors of multiply-adds in a cycle."""
BYTES: Final = 6
"""Bytes that come from memory in a cycle."""
TRANSFORM: Final = {2: (150, 130), 4: (500, 500)}
"""Vector operations, loads and stores for a tile and a vector of channels, before and after the products, by m."""
FILTERS: Final = {2: 45, 4: 110}
"""The same for a vector of filters that is transformed in each call."""
CLOCK: Final = 2.1e9
"""Cycles of the model in a second, for estimates that people read: layers of ResNet-18 reach two thirds of the peak."""
WORTH: Final = 0.85
"""Largest share of the direct algorithm's cost at which another one, of larger error, is chosen."""
MEASURED_WORTH: Final = 0.97
"""The same of measured times, which are nearer to the truth than estimates."""


@dataclass(frozen=True)
class ChooseAlgorithmsPass(ModulePass):
    """Choose algorithms of convolutions.

    Of those of 3 by 3 filters at a step of one, the cheapest of the definition and of Winograd's F(2, 3) and F(4, 3)
    is taken, by a model of the arithmetic and of the bytes from memory. Measured times, in the attribute
    `native.seconds` of a kernel, take the place of the model's.

    Before:

    ```mlir
    %1 = native.kernel "convolution"(%x, %w) : (tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32>) -> ...
    ```

    After:

    ```mlir
    %1 = native.kernel "winograd_4"(%x, %w) : (tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32>) -> ...
    ```
    """

    name = "choose-algorithms"

    algorithm: str | None = None
    """One of `ALGORITHMS`, for all convolutions that it can compute, whatever the costs."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.algorithm not in (None, *ALGORITHMS):
            raise PassReport(
                "algorithms cannot be chosen",
                [
                    diagnose(
                        op, f"unknown algorithm '{self.algorithm}'", f"there are: {', '.join(ALGORITHMS)}"
                    )
                ],
            )
        for kernel in op.walk():
            if isinstance(kernel, KernelOp) and kernel.form.data == "convolution":
                measured = _measured(kernel)
                found = measured or {form: cycles / CLOCK for form, cycles in costs(kernel).items()}
                kernel.form = StringAttr(self._form(kernel, found, MEASURED_WORTH if measured else WORTH))
                if len(found) > 1:
                    _note(kernel, found, measured=bool(measured))

    def _form(self, kernel: KernelOp, found: dict[str, float], worth: float) -> str:
        if self.algorithm is not None:
            form = ALGORITHMS[self.algorithm]
            return form if form in found else "convolution"
        if is_narrow(kernel):
            return "convolution"
        cheapest = min(found, key=lambda form: found[form])
        return cheapest if found[cheapest] <= worth * found["convolution"] else "convolution"


def set_seconds(kernel: KernelOp, seconds: dict[str, float]) -> None:
    """State measured times of a kernel by form."""
    kernel.attributes[SECONDS] = DictionaryAttr(
        {form: FloatAttr(time, f64) for form, time in seconds.items()}
    )


def _measured(kernel: KernelOp) -> dict[str, float]:
    """Take the measured times off a kernel; none where it is not measured."""
    stated = kernel.attributes.pop(SECONDS, None)
    if not isinstance(stated, DictionaryAttr):
        return {}
    times = {
        form: float(time.value.data) for form, time in stated.data.items() if isinstance(time, FloatAttr)
    }
    return times if times.keys() == costs(kernel).keys() else {}


def has_choice(kernel: KernelOp) -> bool:
    """Whether more than one algorithm computes a kernel, whichever does now."""
    return kernel.form.data in ALGORITHMS.values() and len(costs(kernel)) > 1 and not is_narrow(kernel)


def _note(kernel: KernelOp, found: dict[str, float], *, measured: bool) -> None:
    """Write down what has been chosen among, for `et-compile --explain`."""
    anchor = anchor_of(kernel)
    names = {form: name for name, form in ALGORITHMS.items()}
    candidates = tuple(Candidate(names[form], seconds) for form, seconds in found.items())
    chosen = names[kernel.form.data]
    note(Choice(anchor.name, shapes_of(anchor), anchor.location, candidates, chosen, measured))


def costs(kernel: KernelOp) -> dict[str, float]:
    """Estimated cycles of the forms that a convolution can be computed in."""
    anchor = anchor_of(kernel)
    if not kernel.has_fixed_sizes():
        return {"convolution": 0.0}
    sizes = tensor_type(anchor.results[0]).get_shape()
    shape = tensor_type(anchor.arg("weight")).get_shape()
    if len(shape) != 4 or int(anchor.arg("groups")) != 1 or anchor.arg("transposed"):
        return {"convolution": 0.0}
    columns, channels, height, width = shape
    pixels = sizes[0] * prod(sizes[2:])
    multiplications = pixels * height * width * channels * columns
    filters = height * width * channels * columns * 4
    # Filters come from memory while those before are multiplied.
    found = {"convolution": max(multiplications / LANES / FUSED, filters / BYTES)}
    window = window_of(anchor)
    if not _is_winograd(window):
        return found
    for size, (before, after) in TRANSFORM.items():
        places = (size + 2) ** 2
        tiles = sizes[0] * -(-sizes[2] // size) * -(-sizes[3] // size)
        # Below eight rows, products wait for the filters.
        products = places * max(tiles, 8) * channels * columns / LANES / FUSED
        transforms = tiles * (channels * before + columns * after) / LANES
        if transforms_filters(places, tiles, channels, columns):
            transforms += FILTERS[size] * channels * columns / LANES
            read = filters
        else:
            read = places * channels * columns * 4
        found[f"winograd_{size}"] = max(products, read / BYTES) + transforms
    return found


def is_narrow(kernel: KernelOp) -> bool:
    """Whether a convolution has fewer channels than a vector elements, of which transforms are made."""
    return min(tensor_type(anchor_of(kernel).arg("weight")).get_shape()[:2]) < LANES


def _is_winograd(window: Window) -> bool:
    """Whether Winograd's algorithms compute what is under a window."""
    return (window.height, window.width, window.step_y, window.step_x, window.apart_y, window.apart_x) == (
        3,
        3,
        1,
        1,
        1,
        1,
    )
