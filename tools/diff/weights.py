"""Differences of constants and initial state of two programs, by name.

Constants without a name are compared where they are used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from et_tools.diff.difference import Difference
from et_tools.info.tensors import describe, tensor_facts, tensor_name

if TYPE_CHECKING:
    from et_schema.program import Tensor
    from et_vm.program import Program


class _Weight(NamedTuple):
    table: Tensor
    description: str
    data: memoryview


def compare_weights(first: Program, second: Program) -> Iterator[Difference]:
    """Weights that only one program has, of other types, or with other contents."""
    before, after = _weights(first), _weights(second)
    for name in dict.fromkeys((*before, *after)):
        old, new = before.get(name), after.get(name)
        if old is None or new is None:
            yield Difference(
                "weights", None if old is None else old.description, None if new is None else new.description
            )
        elif old.description != new.description:
            yield Difference("weights", old.description, new.description)
        elif old.data != new.data:
            yield Difference("contents of weights", None, f"{new.description}: {_how_much(old, new)}")
    removed, added = (
        _delegated(one) - _delegated(other) for one, other in ((first, second), (second, first))
    )
    for description in removed.elements():
        yield Difference("weights of delegates", description, None)
    for description in added.elements():
        yield Difference("weights of delegates", None, description)


def _delegated(program: Program) -> Counter[str]:
    """The constants of delegates, with digests, as few backends keep names."""
    from hashlib import sha256

    from et_tools.info.delegate_weights import delegate_weights

    return Counter(
        f"{describe(one.facts)} of {one.facts['delegate']}"
        + ("" if one.data is None else f" #{sha256(one.data).hexdigest()[:8]}")
        for one in delegate_weights(program, {}).weights
    )


def _weights(program: Program) -> dict[str, _Weight]:
    from et_schema.program import Tensor
    from et_vm.meta import TensorInfo
    from et_vm.verify.tensors import tensor_bytes, tensor_data

    found: dict[str, _Weight] = {}
    for plan in program.pte.program.execution_plan:
        for value in plan.values:
            table = value.val
            if not isinstance(table, Tensor) or not (name := tensor_name(table)) or name in found:
                continue
            extra = table.extra_tensor_info
            if table.data_buffer_idx and extra is not None and not extra.location:
                facts = tensor_facts(TensorInfo(table, name))
                found[name] = _Weight(
                    table, describe(facts), tensor_data(table, tensor_bytes(table), program.pte)
                )
    return found


def _how_much(old: _Weight, new: _Weight) -> str:
    """In how many elements two tensors of one type differ, and by how much."""
    import numpy as np

    from et_schema.scalar_type import numpy_dtype

    dtype = numpy_dtype(old.table.scalar_type)
    width = dtype.itemsize
    before, after = np.frombuffer(old.data, dtype), np.frombuffer(new.data, dtype)
    raw_before = np.frombuffer(old.data, np.uint8).reshape(-1, width)
    raw_after = np.frombuffer(new.data, np.uint8).reshape(-1, width)
    differ = (raw_before != raw_after).any(axis=1)
    wide = np.complex128 if dtype.kind == "c" else np.float64
    with np.errstate(all="ignore"):
        largest = np.max(np.abs(before[differ].astype(wide) - after[differ].astype(wide)))
    return f"{int(differ.sum()):,} of {differ.size:,} elements differ, by up to {largest:.5g}"
