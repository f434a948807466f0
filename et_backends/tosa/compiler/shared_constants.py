"""Sharing of constants among the blobs of a program, as named data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Final

from et_backends.tosa.format.blob import DATA_ALIGNMENT, block_of, read_tosa, serialize_tosa
from et_backends.tosa.format.graph import TosaGraph, TosaTensor
from et_ir.data import Blob
from et_ir.delegation.details import PreprocessResult
from et_ir.delegation.named_data import NamedDataStore

__all__ = ["share_constants"]

_LEAST: Final = 1024
"""Bytes of a constant that is worth an entry of its own."""


def share_constants(
    results: Mapping[str, Sequence[PreprocessResult]],
) -> Mapping[str, Sequence[PreprocessResult]]:
    """Results of partitions, of which equal constants are stored once; those without one stay as they are."""
    graphs: dict[bytes, TosaGraph] = {}
    owners: dict[str, set[bytes]] = {}
    for blob in (_bytes(one) for ones in results.values() for one in ones):
        if blob not in graphs:
            graphs[blob] = read_tosa(blob)
            for key, _ in _constants(graphs[blob]):
                owners.setdefault(key, set()).add(blob)
    shared = {key for key, blobs in owners.items() if len(blobs) > 1}
    return {
        method: [_shared(one, graphs[_bytes(one)], shared) for one in ones]
        for method, ones in results.items()
    }


def _shared(result: PreprocessResult, graph: TosaGraph, shared: set[str]) -> PreprocessResult:
    store = NamedDataStore()
    tensors: dict[str, TosaTensor] = {}
    for key, tensor in _constants(graph):
        if key in shared:
            store.add_named_data(key, bytes(tensor.data or b""), DATA_ALIGNMENT)
            tensors[tensor.name] = replace(tensor, data=None, variable_name=key)
    if not tensors:
        return result
    block = block_of(graph)
    block = replace(block, tensors=[tensors.get(one.name, one) for one in block.tensors])
    graph = replace(graph, regions=[replace(graph.regions[0], blocks=[block])])
    return replace(
        result,
        processed_bytes=serialize_tosa(graph),
        data_store_output=store.get_named_data_store_output(),
    )


def _bytes(result: PreprocessResult) -> bytes:
    data = result.processed_bytes
    return bytes(data.view() if isinstance(data, Blob) else data)


def _constants(graph: TosaGraph) -> Iterator[tuple[str, TosaTensor]]:
    """Large constants, with the keys of their contents."""
    for tensor in block_of(graph).tensors:
        if tensor.data is not None and len(tensor.data) >= _LEAST:
            yield f"tosa_{sha256(tensor.data).hexdigest()}", tensor
