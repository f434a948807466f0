"""Quantized weights: the integers of a file, restored where a node needs them.

A weight has one byte, or half of one, an element; float32 are there only of the rows that a product is about to read.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from et_vm.values import Array

__all__ = ["QuantizedWeight"]

_NIBBLE_ZERO: Final = 8


class QuantizedWeight:
    """Integers `q`, a matrix of rows and columns, that stand for `(q - zero_point) * scale`.

    Attributes:
        scales: float32, as they were given.
        dims: the shape of the constant; all but the last dimension make rows.
        nbytes: what its scales take; the integers are a view of the file.
    """

    __slots__ = (
        "_groups",
        "_integers",
        "_nibbles",
        "_zero_point",
        "columns",
        "dims",
        "nbytes",
        "rows",
        "scales",
    )

    def __init__(
        self,
        integers: Array,
        nibbles: bool,
        dims: tuple[int, ...],
        scales: Array,
        zero_point: np.float32 = np.float32(0),  # noqa: B008  (numbers do not change)
    ) -> None:
        """`integers` [rows, columns], or two in a byte with that of the lower column in its low half; `scales` f32
        [rows, groups], [rows, 1], [1, columns] or [1, 1].
        """
        self._integers = integers
        self._nibbles = nibbles
        self.scales = scales
        self._zero_point = zero_point
        self.dims = dims
        self.rows = integers.shape[0]
        self.columns = dims[-1] if dims else 1
        self._groups = scales.shape[1] if scales.shape[0] == self.rows and scales.shape[1] > 1 else 0
        self.nbytes = scales.nbytes

    def dequantize(self, start: int, stop: int, out: Array) -> None:
        """Write the numbers of rows from `start` up to `stop` into `out`, float32 [stop - start, columns]."""
        integers = self._integers[start:stop]
        if self._nibbles:
            out[:, 0::2] = integers & 15
            out[:, 1::2] = (integers >> 4)[:, : self.columns // 2]
            out -= np.float32(_NIBBLE_ZERO)
        else:
            np.copyto(out, integers)
        if self._zero_point:
            out -= self._zero_point
        scales = self.scales if self.scales.shape[0] == 1 else self.scales[start:stop]
        if self._groups:
            blocks = out.reshape(stop - start, self._groups, self.columns // self._groups)
            np.multiply(blocks, scales[:, :, None], out=blocks)
        else:
            np.multiply(out, scales, out=out)
