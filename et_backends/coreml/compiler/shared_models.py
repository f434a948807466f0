"""Models with a function for each method: weights that methods share are stored once.

The n-th partitions of all methods become one model, as in ExecuTorch's sharing of weights by position. There, each
method must have as many partitions; here, partitions that share nothing with others keep models of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Final

from et_backends.coreml.compiler.serialization import serialize_reference, serialize_shared
from et_backends.coreml.format.blob import CoremlReference, read_coreml
from et_backends.coreml.format.mil import MilProgram
from et_ir.data import Blob
from et_ir.delegation.details import PreprocessResult
from et_ir.delegation.named_data import NamedDataStore

__all__ = ["share_models"]

_LEAST: Final = 1024
"""Bytes of shared weights that are worth a shared model."""


def share_models(
    results: Mapping[str, Sequence[PreprocessResult]],
) -> Mapping[str, Sequence[PreprocessResult]]:
    """Results of partitions, of which those at one position that share weights refer to a model in the named data."""
    made = {method: list(ones) for method, ones in results.items()}
    for position in range(max(map(len, made.values()), default=0)):
        group = {method: ones[position] for method, ones in made.items() if position < len(ones)}
        programs = {method: _program(one) for method, one in group.items()}
        sharing = _sharing(programs)
        if len(sharing) < 2:
            continue
        identifier, blob = serialize_shared({method: programs[method] for method in sharing})
        key = f"coreml_{identifier}"
        store = NamedDataStore()
        store.add_named_data(key, blob)
        for method in sharing:
            made[method][position] = replace(
                group[method],
                processed_bytes=serialize_reference(CoremlReference(key, method)),
                data_store_output=store.get_named_data_store_output(),
            )
    return made


def _program(result: PreprocessResult) -> MilProgram:
    data = result.processed_bytes
    return read_coreml(data.view() if isinstance(data, Blob) else data).program


def _sharing(programs: Mapping[str, MilProgram]) -> list[str]:
    """The methods whose programs have enough weights that another has too."""
    weights = {
        method: {sha256(value.data).digest(): len(value.data) for _, value in program.weights()}
        for method, program in programs.items()
    }
    owners = Counter(digest for found in weights.values() for digest in found)
    return [
        method
        for method, found in weights.items()
        if sum(size for digest, size in found.items() if owners[digest] > 1) >= _LEAST
    ]
