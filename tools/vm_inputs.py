"""Methods and inputs as the command line of et-vm names them: files, generators, and the values of the file."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from et_schema.diagnostics import did_you_mean
from et_schema.whole_numbers import MAX_WHOLE_NUMBER, shortened, whole_number
from et_schema.wording import count
from et_tools.exit_codes import UsageError

if TYPE_CHECKING:
    from et_schema.scalar_type import ScalarType

__all__ = ["Input", "MethodSignature", "is_registered", "load_arrays", "method_inputs", "method_name"]

SHOWN_NAMES = 8
_LARGEST = 16
"""Bytes of an element at most."""
_DESCRIPTIONS = 1 << 20
"""Bytes that the descriptions of arrays have in a file, and small arrays of the wrong size."""
# How a zip archive begins, which is what an .npz file is.
ZIP = b"PK"
# What `dtype.isbuiltin` says of types that another package added to numpy.
_REGISTERED = 2


class Input(NamedTuple):
    """A value for one input, and where it comes from."""

    value: Any
    source: str


class _TensorType(Protocol):
    """The type of an input tensor."""

    def sizes(self) -> tuple[int, ...]: ...

    def dtype(self) -> ScalarType: ...


class MethodSignature(Protocol):
    """The inputs of a method, of a file or of a text."""

    def name(self) -> str: ...

    def num_inputs(self) -> int: ...

    def input_tag(self, index: int) -> str: ...

    def input_tensor_meta(self, index: int) -> _TensorType: ...

    def input_value(self, index: int) -> int | float | bool | str | None: ...


class _Methods(Protocol):
    @property
    def method_names(self) -> Sequence[str]: ...


def method_name(program: _Methods, asked: str | None) -> str:
    names = program.method_names
    if asked is not None:
        if asked not in names:
            hint = did_you_mean(asked, names)
            raise UsageError(f"no method {asked!r}; the methods are {', '.join(names)}{hint}")
        return asked
    if "forward" in names or len(names) == 1:
        return "forward" if "forward" in names else names[0]
    raise UsageError(f"choose a method with --method: {', '.join(names)}")


def method_inputs(meta: MethodSignature, sources: list[str]) -> list[Input]:
    """One value for each input of the method. Inputs that are no tensors have the value they were exported
    with.
    """
    slots = range(meta.num_inputs())
    tensors = [slot for slot in slots if meta.input_tag(slot) == "Tensor"]
    if len(sources) == 1 and _generator(sources[0]):
        sources = sources * len(tensors)
    given: list[Input | str] = []
    for source in sources:
        given += [source] if _generator(source) else load_arrays(source, _most(meta, tensors))
    if len(given) not in (len(tensors), meta.num_inputs()):
        names = ", ".join(item if isinstance(item, str) else item.source for item in given[:SHOWN_NAMES])
        raise UsageError(
            f"{meta.name()} takes {count(meta.num_inputs(), 'input')}, got {len(given)}"
            + (f": {names}" if names else "")
            + (", …" if len(given) > SHOWN_NAMES else "")
        )
    filled = list(slots) if len(given) == meta.num_inputs() else tensors
    chosen = dict(zip(filled, given, strict=True))
    values: list[Input] = []
    for slot in slots:
        source = chosen.get(slot, "as exported")
        if not isinstance(source, str):
            values.append(_reinterpret(source, meta, slot))
        elif meta.input_tag(slot) == "Tensor":
            values.append(Input(_generate(source, meta.input_tensor_meta(slot), slot), source))
        else:
            values.append(Input(meta.input_value(slot), "as exported"))
    return values


def _most(meta: MethodSignature, tensors: Sequence[int]) -> int | None:
    """The bytes that arrays for tensor inputs can have, whatever their element types, and some more for descriptions;
    `None` where an input has no largest size.
    """
    types = [meta.input_tensor_meta(slot) for slot in tensors]
    if any(size < 0 for type in types for size in type.sizes()):
        return None
    return _LARGEST * sum(math.prod(type.sizes()) for type in types) + _DESCRIPTIONS


def _generator(source: str) -> bool:
    kind, _, seed = source.partition(":")
    if kind == "random":
        if whole_number(seed or "0") is None:
            raise UsageError(f"the seed in {shortened(source)!r} is not a number up to {MAX_WHOLE_NUMBER}")
        return True
    return source == "ones"


def _generate(source: str, tensor: _TensorType, slot: int) -> Any:
    """Ones; or normal floats, integers from 0 to 9, and bools, from a generator of its own for each input."""
    from et_schema.scalar_type import numpy_dtype

    dtype = numpy_dtype(tensor.dtype())
    if source == "ones":
        return np.ones(tensor.sizes(), dtype)
    generator = np.random.default_rng((int(source.partition(":")[2] or 0), slot))
    if dtype.kind == "b":
        return generator.integers(0, 2, tensor.sizes()).astype(dtype)
    if dtype.kind in "iu":
        return generator.integers(0, 10, tensor.sizes()).astype(dtype)
    return generator.standard_normal(tensor.sizes(), np.float32).astype(dtype)


def load_arrays(source: str, most: int | None = None) -> list[Input]:
    """The arrays of a file. Raises UsageError for what is none, and for an archive that has more than `most` bytes when
    it is unpacked, without `most` much more than its size suggests (`et_schema.archives`); OSError.
    """
    if not source.endswith((".npy", ".npz")):
        raise UsageError(f"input {source!r} not recognized: expected x.npy, x.npz, random[:SEED] or ones")
    from et_schema.archives import check_members

    with open(source, "rb") as file:
        zipped = file.read(len(ZIP)) == ZIP
        file.seek(0)
        try:
            if not zipped:
                return [Input(_native(np.lib.format.read_array(file, allow_pickle=False)), source)]
            with np.load(file, allow_pickle=False) as arrays:
                members = arrays.zip.infolist()
                if most is None:
                    check_members(members, file.seek(0, os.SEEK_END))
                elif (unpacked := sum(member.file_size for member in members)) > most:
                    raise UsageError(f"{source}: {unpacked:,} bytes of arrays, more than the inputs have")
                return [Input(_native(arrays[key]), f"{source}[{key}]") for key in arrays.files]
        except UsageError:
            raise
        except Exception as error:
            # What numpy, zipfile and zlib raise for a damaged file is not written down: TokenError is among it, and
            # OSError for places before the first byte.
            what = "not a valid .npz file" if zipped else "not a valid .npy file of numbers"
            raise UsageError(f"{source}: {what}: {_first_line(error)}") from None


def _first_line(error: Exception) -> str:
    text = (str(error).splitlines() or [type(error).__name__])[0]
    return "contains Python objects" if "allow_pickle" in text else text


def _native(array: np.ndarray) -> np.ndarray:
    """The array in this machine's byte order."""
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _reinterpret(given: Input, meta: MethodSignature, slot: int) -> Input:
    """numpy files hold the types of ml_dtypes as raw bytes: give them their type back."""
    from et_schema.scalar_type import numpy_dtype

    if meta.input_tag(slot) == "Tensor" and given.value.dtype.kind == "V":
        dtype = numpy_dtype(meta.input_tensor_meta(slot).dtype())
        # Records are no raw bytes, and types of numpy's own are never written as such.
        raw = given.value.dtype.fields is None and is_registered(dtype)
        if raw and dtype.itemsize == given.value.dtype.itemsize:
            return given._replace(value=given.value.view(dtype))
    return given


def is_registered(dtype: np.dtype[Any]) -> bool:
    """Whether an element type is another package's: bfloat16 and float8, which float32 holds exactly."""
    return dtype.isbuiltin == _REGISTERED
