"""Names of inputs and constants.

Upstream's schema has a name in `Tensor.extra_tensor_info`, but viewers do not open files in which constants have that
table (Netron 9.3), and it makes state of what is planned. So the names are named data, which other readers leave
alone: JSON, by method the values that are inputs or constants and the name of each.

    {"forward": [[0, "x"], [3, "fc.weight"], [4, "fc.bias"]]}

`apply_names` puts those of constants where the schema has them and those of inputs beside the tables, so that whoever
looks at a decoded file finds a name in one place.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from et_schema.errors import FIRST, InvalidFile, Problems
from et_schema.program import EValue, ExtraTensorInfo, KernelTypes, NamedData, Tensor
from et_schema.pte import PteFile

if TYPE_CHECKING:
    from et_schema.columns import Tables

__all__ = ["KEY", "Names", "apply_names", "decode", "encode"]

KEY: Final = "et_ir.names"
"""The named data that holds the names of all methods' inputs and constants."""

_TENSOR: Final = KernelTypes.__args__.index(Tensor) + 1

Names: TypeAlias = Mapping[str, Sequence[tuple[int, str]]]
"""By method the values that are inputs or constants, in ascending order, with their names."""


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
    """Give the constants of a file the names that its named data has for them, as `fully_qualified_name`, and the file
    those of its inputs, as `PteFile.input_names`; the entry they are from.

    Raises `InvalidFile`, or reports it, for names that cannot be read, or are of what is neither; then none is given.
    """
    for index, entry in enumerate(pte.program.named_data):
        if entry.key != KEY or id(entry) in pte.malformed:
            continue
        try:
            names = decode(pte.segments[entry.segment_index])
            found = _named_tensors(pte, names)
        except ValueError as error:
            problems.add(InvalidFile(f"names: {error}", where=f"named_data[{index}]"))
            return None
        for values, named in found:
            if isinstance(values, list):
                for at, name in named.items():
                    _name(values[at], name)
            else:
                values.amend(named, _name)
        for plan in pte.program.execution_plan:
            given = dict(names.get(plan.name, ())) if id(plan) not in pte.malformed else {}
            of_inputs = tuple(given.get(value, "") for value in plan.inputs)
            if any(of_inputs):
                pte.input_names[plan.name] = of_inputs
        return entry
    return None


def _name(value: EValue, name: str) -> None:
    tensor = value.val
    assert isinstance(tensor, Tensor)
    if tensor.extra_tensor_info is None:
        tensor.extra_tensor_info = ExtraTensorInfo()
    tensor.extra_tensor_info.fully_qualified_name = name


def _named_tensors(pte: PteFile, names: Names) -> list[tuple[list[EValue] | Tables[EValue], dict[int, str]]]:
    """Values of methods, and the names that tensors among them have. Raises `ValueError`."""
    plans = {plan.name: plan for plan in pte.program.execution_plan if id(plan) not in pte.malformed}
    found: list[tuple[list[EValue] | Tables[EValue], dict[int, str]]] = []
    for method, pairs in names.items():
        if method not in plans:
            if pte.malformed:
                continue
            raise ValueError(f"no method {method!r}")
        values = cast("list[EValue] | Tables[EValue]", plans[method].values)
        plain = set[int]() if isinstance(values, list) else _plain_constants(values)
        inputs = set(plans[method].inputs)
        named: dict[int, str] = {}
        for index, name in pairs:
            if index in inputs:
                continue
            if index in plain:
                named[index] = name
                continue
            value = values[index].val if 0 <= index < len(values) else None
            if (
                not isinstance(value, Tensor)
                or not value.data_buffer_idx
                or value.allocation_info is not None
            ):
                if pte.malformed:
                    continue
                raise ValueError(
                    f"value {index} of {method!r} is neither an input nor a constant in the file"
                )
            info = value.extra_tensor_info
            if info is not None and info.fully_qualified_name not in ("", name):
                raise ValueError(
                    f"value {index} of {method!r} is called {info.fully_qualified_name!r} and {name!r}"
                )
            named[index] = name
        found.append((values, named))
    return found


def _plain_constants(values: Tables[EValue]) -> set[int]:
    """The constants in the file that have no further properties, so no name."""
    which, tensors = values.columns.members("val").members.get(_TENSOR, (None, None))
    if which is None or tensors is None:
        return set()
    plain = tensors.numbers("data_buffer_idx") > 0
    for field in ("allocation_info", "extra_tensor_info"):
        plain[tensors.tables(field)[0]] = False
    return set(which[plain].tolist())
