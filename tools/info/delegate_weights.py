"""Constants of delegates: in their blobs, or named data of the program that several may share.

What a blob says of them is its backend's: XNNPACK, Core ML and TOSA have types and shapes, the latter two names of
their own; the others have only bytes, as kernels read them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from et_schema.errors import ExecutorchError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from et_vm.program import Program

__all__ = ["delegate_weights"]

TORCH: Final = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}
"""Types that torch has under another name."""
NUMPY: Final = {
    "float32": "float32",
    "float16": "float16",
    "qint32": "int32",
    "qcint32": "int32",
    "qint8": "int8",
    "qcint8": "int8",
    "quint8": "uint8",
    "bool": "bool",
    "int8": "int8",
    "uint8": "uint8",
    "int16": "int16",
    "int32": "int32",
    "int64": "int64",
}
"""Types whose elements numpy has."""


class _Constant(NamedTuple):
    dtype: str
    shape: list[int]
    nbytes: int
    key: str
    data: memoryview | None
    numpy: str = ""
    name: str = ""
    """The name that the blob has for it."""


def delegate_weights(
    program: Program, names: Mapping[str, Sequence[str]]
) -> list[tuple[dict[str, Any], NDArray[np.generic] | None]]:
    """The constants of all delegates of backends whose blobs can be read, largest first, with their elements, where
    these are in the file and numpy has their type. `names` has names of constants by the SHA-256 of their bytes.

    Each has `dtype` and `shape`, of bytes where the blob does not say more; `nbytes`; `delegate`, the backend; `uses`,
    how often blobs name it; `external`, whether it is outside of the file; the `key` of named data; `name`, or
    the one of the blob, and `also`, if known.
    """
    pte = program.pte
    named = pte.named_data()
    found: dict[object, tuple[dict[str, Any], NDArray[np.generic] | None]] = {}
    for plan in pte.program.execution_plan:
        for delegate in plan.delegates:
            reference = delegate.processed
            read = _READERS.get(delegate.id)
            if reference is None or read is None:
                continue
            blob = pte.delegate_data(reference)
            try:
                constants = list(read(blob, named))
            except ExecutorchError:
                continue  # the decoder of its contents, which a page shows beside, says what is wrong
            own = (delegate.id, reference.location, reference.index)
            for at, one in enumerate(constants):
                key = one.key or (*own, at)
                if key in found:
                    found[key][0]["uses"] += 1
                else:
                    found[key] = _facts(one, delegate.id, names), _values(one)
    return sorted(found.values(), key=lambda weight: -weight[0]["nbytes"])


def _values(one: _Constant) -> NDArray[np.generic] | None:
    import numpy as np

    if one.data is None or not one.numpy:
        return None
    dtype = np.dtype(one.numpy)
    # The data may have padding behind it, or be shorter than its type says in a file of any origin.
    return np.frombuffer(
        one.data[: min(one.nbytes, one.data.nbytes) // dtype.itemsize * dtype.itemsize], dtype
    )


def _facts(one: _Constant, backend: str, names: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    from hashlib import sha256

    facts: dict[str, Any] = {
        "dtype": one.dtype,
        "shape": one.shape,
        "nbytes": one.nbytes,
        "delegate": backend,
        "external": one.data is None,
        "uses": 1,
    }
    if one.key:
        facts["key"] = one.key
    known = names.get(sha256(one.data).hexdigest(), ()) if names and one.data is not None else ()
    if known or one.name:
        facts["name"] = known[0] if known else one.name
    if known[1:]:
        facts["also"] = list(known[1:])
    return facts


_Reader: TypeAlias = Callable[[memoryview, Mapping[str, memoryview]], Iterator[_Constant]]


def _xnnpack(blob: memoryview, named: Mapping[str, memoryview]) -> Iterator[_Constant]:
    from et_backends.xnnpack.format.blob import read_xnnpack
    from et_backends.xnnpack.format.nodes import constant_bytes, tensor_of

    read = read_xnnpack(blob)
    for value in read.graph.xvalues:
        tensor = tensor_of(value)
        if tensor is None or not tensor.constant_buffer_idx:
            continue
        index = tensor.constant_buffer_idx
        key = "" if read.graph.constant_buffer else read.graph.constant_data[index].named_key
        dtype = TORCH.get(tensor.datatype.name, tensor.datatype.name)
        data = named.get(key) if key else read.constant(index, named)
        nbytes = constant_bytes(tensor.datatype, tensor.dims)
        yield _Constant(dtype, list(tensor.dims), nbytes, key, data, NUMPY.get(dtype, ""))


def _native(blob: memoryview, named: Mapping[str, memoryview]) -> Iterator[_Constant]:
    from et_backends.native.format import read_native

    for one in read_native(blob).constants:
        yield _Constant("bytes", [one.nbytes], one.nbytes, one.key, named.get(one.key))


def _vulkan_graph(blob: memoryview, named: Mapping[str, memoryview]) -> Iterator[_Constant]:
    from et_backends.vulkan_graph.format.blob import read_vkgraph

    read = read_vkgraph(blob)
    for at, one in enumerate(read.graph.constants):
        data = named.get(one.named_key) if one.named_key else read.constant(at, named)
        yield _Constant("bytes", [one.length], one.length, one.named_key, data)


def _coreml(blob: memoryview, named: Mapping[str, memoryview]) -> Iterator[_Constant]:
    from et_backends.coreml.format.blob import read_coreml

    for name, value in read_coreml(blob).program.weights():
        dtype = value.type.name.name.lower()
        data = memoryview(value.data)
        yield _Constant(dtype, list(value.type.shape), data.nbytes, "", data, NUMPY.get(dtype, ""), name)


def _tosa(blob: memoryview, named: Mapping[str, memoryview]) -> Iterator[_Constant]:
    from et_backends.tosa.format.blob import block_of, constant_bytes, read_tosa
    from et_backends.tosa.format.operators import TosaType

    for tensor in block_of(read_tosa(blob)).tensors:
        if tensor.data:
            dtype = tensor.type.name.lower()
            dtype = TORCH.get(dtype, dtype)
            nbytes = constant_bytes(TosaType(tuple(tensor.shape), tensor.type))
            data = memoryview(tensor.data)[:nbytes]  # without padding
            yield _Constant(dtype, list(tensor.shape), nbytes, "", data, NUMPY.get(dtype, ""), tensor.name)


_READERS: Final[Mapping[str, _Reader]] = {
    "CoreMLBackend": _coreml,
    "NativeBackend": _native,
    "TOSABackend": _tosa,
    "VulkanBackend": _vulkan_graph,
    "XnnpackBackend": _xnnpack,
}
