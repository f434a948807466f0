"""Names of constants, beside their tensors.

Upstream's schema has a name in `Tensor.extra_tensor_info`, but viewers do not open files in which constants have that
table (Netron 9.3). So the names are named data, which other readers leave alone: JSON, by method the values that are
constants and the name of each.

    {"forward": [[3, "fc.weight"], [4, "fc.bias"]]}

`apply_names` puts them where the schema has them, so that whoever looks at a decoded file finds a name in one place.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, TypeAlias, cast

from et_schema.errors import FIRST, InvalidFile, Problems
from et_schema.program import ExtraTensorInfo, NamedData, Tensor
from et_schema.pte import PteFile

__all__ = ["KEY", "Names", "apply_names", "decode", "encode"]

KEY: Final = "et_ir.names"
"""The named data that holds the names of all methods' constants."""

Names: TypeAlias = Mapping[str, Sequence[tuple[int, str]]]
"""By method the values that are constants, in ascending order, with their names."""


def encode(names: Names) -> bytes:
    """The named data for names."""
    return json.dumps(
        {method: list(map(list, pairs)) for method, pairs in sorted(names.items())},
        ensure_ascii=False,
        separators=(",", ":"),
    ).encode()


def decode(data: bytes | memoryview) -> dict[str, list[tuple[int, str]]]:
    """The names by method. Raises `ValueError` for what `encode` cannot have written."""
    try:
        tables: Any = json.loads(bytes(data).decode())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"no JSON: {error}") from None
    if not isinstance(tables, dict):
        raise ValueError("expected an object with the names of each method")
    return {name: _method(name, table) for name, table in cast("dict[str, Any]", tables).items()}


def _method(method: str, table: Any) -> list[tuple[int, str]]:
    if not isinstance(table, list):
        raise ValueError(f"method {method!r}: expected a list")
    pairs: list[tuple[int, str]] = []
    for pair in cast("list[Any]", table):
        match pair:
            case [int(value), str(name)] if type(value) is int and name:
                name.encode()  # JSON can spell halves of surrogate pairs, which nothing can print
                pairs.append((value, name))
            case _:
                raise ValueError(f"method {method!r}: expected pairs of a value's number and its name")
    if any(one >= other for (one, _), (other, _) in pairwise(pairs)):
        raise ValueError(f"method {method!r}: the values are not in ascending order")
    return pairs


def apply_names(pte: PteFile, problems: Problems = FIRST) -> NamedData | None:
    """Give the constants of a file the names that its named data has for them, as `fully_qualified_name`; the entry
    they are from.

    Raises `InvalidFile`, or reports it, for names that cannot be read, or are of what is no constant; then none is
    given.
    """
    for index, entry in enumerate(pte.program.named_data):
        if entry.key != KEY or id(entry) in pte.malformed:
            continue
        try:
            found = _named_tensors(pte, decode(pte.segments[entry.segment_index]))
        except ValueError as error:
            problems.add(InvalidFile(f"names: {error}", where=f"named_data[{index}]"))
            return None
        for tensor, name in found:
            if tensor.extra_tensor_info is None:
                tensor.extra_tensor_info = ExtraTensorInfo()
            tensor.extra_tensor_info.fully_qualified_name = name
        return entry
    return None


def _named_tensors(pte: PteFile, names: Names) -> list[tuple[Tensor, str]]:
    """The tensors that names are of. Raises `ValueError`."""
    plans = {plan.name: plan for plan in pte.program.execution_plan if id(plan) not in pte.malformed}
    found: list[tuple[Tensor, str]] = []
    for method, pairs in names.items():
        if method not in plans:
            if pte.malformed:
                continue
            raise ValueError(f"no method {method!r}")
        values = plans[method].values
        for index, name in pairs:
            value = values[index].val if 0 <= index < len(values) else None
            if (
                not isinstance(value, Tensor)
                or not value.data_buffer_idx
                or value.allocation_info is not None
            ):
                if pte.malformed:
                    continue
                raise ValueError(f"value {index} of {method!r} is not a constant in the file")
            info = value.extra_tensor_info
            if info is not None and info.fully_qualified_name not in ("", name):
                raise ValueError(
                    f"value {index} of {method!r} is called {info.fully_qualified_name!r} and {name!r}"
                )
            found.append((value, name))
    return found
