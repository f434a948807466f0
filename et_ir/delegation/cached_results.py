"""Results of backends in a store of compilations: what they depend on, and their form there.

The key of a result is the text of the partition with its locations, where the weights are hashes; the compile specs;
the source of the backend's compiler; and versions. Locations in a result are kept as numbers of those of the program.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final, cast

from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    LocationAttr,
    ModuleOp,
)

from et_ir.analysis.choices import is_explained
from et_ir.cache.dependences import code_digest, versions
from et_ir.cache.store import Entry, Key, Store, current_store
from et_ir.data import Blob
from et_ir.delegation.details import BackendDetails, PreprocessResult
from et_ir.delegation.named_data import DataEntry, NamedDataStoreOutput
from et_ir.delegation.specs import CompileSpec
from et_ir.rewrite_limit import current_limit
from et_ir.text import module_text

__all__ = ["cached_results"]

Programs = Mapping[str, Sequence[ModuleOp]]
"""The partitions by method."""
Results = Mapping[str, Sequence[PreprocessResult]]
"""What a backend makes of them."""

_KIND: Final = "partition"
_WEIGHT: Final = re.compile(r'"[0-9a-f]{64}"')
_LINE: Final = re.compile(r'"(?:[^"\\]|\\.)*":[0-9]+:[0-9]+')
"""A line of a file in a location."""


def cached_results(
    details: type[BackendDetails],
    programs: Programs,
    specs: Mapping[str, Sequence[Sequence[CompileSpec]]],
    compute: Callable[[], Results],
) -> Results:
    """What a backend makes of partitions: from the store of compilations, if there is one that has it, else computed.

    Raises what `compute` raises.
    """
    store = current_store()
    if store is None:
        return compute()
    subject = f"{details.backend_id} of {sum(map(len, programs.values()))} partition(s)"
    reason = _reason_against(details)
    key = None
    if reason is None:
        key, reason = _key(details, programs, specs)
    if key is None:
        store.skip(_KIND, subject, reason or "")
        return compute()
    locations = list(_locations(programs))
    if is_explained():  # who asks about choices is told those of a compilation
        store.note(key, subject)
    elif (entry := store.find(key, subject)) is not None:
        return _decoded(entry, locations)
    results = compute()
    _keep(store, key, results, programs, locations)
    return results


def _reason_against(details: type[BackendDetails]) -> str | None:
    """Why results of a backend are not kept; None where they are."""
    if "<locals>" in details.__qualname__:
        return "not kept: the backend is a class within a function"
    if current_limit() is not None:
        return "not kept: rewrites are limited"
    return None


def _key(
    details: type[BackendDetails],
    programs: Programs,
    specs: Mapping[str, Sequence[Sequence[CompileSpec]]],
) -> tuple[Key | None, str | None]:
    """What the results depend on, or why they are not kept."""
    settings = list(dict.fromkeys(spec for ones in specs.values() for one in ones for spec in one))
    further = details.further_dependences(settings)
    if further is None:
        return None, "not kept: the backend refuses for these settings"
    source = code_digest(details.__module__)
    if source is None:
        return None, f"not kept: the backend's module {details.__module__} is in no package"
    texts = [module_text(one, debuginfo=True) for ones in programs.values() for one in ones]
    text = "\n".join(texts)
    if not details.holds_lines:
        text = _without_lines(text)
    given = [[[(spec.key, spec.value) for spec in one] for one in ones] for ones in specs.values()]
    parts = {
        "program": _hash(_WEIGHT.sub("", text)),
        "weights": _hash("".join(_WEIGHT.findall(text))),
        "methods": json.dumps({method: len(ones) for method, ones in programs.items()}),
        "settings": _hash(repr(given)),
        "backend": f"{details.backend_id} {details.__module__}.{details.__qualname__}",
        "source of the backend": source,
        "machine": further,
    } | {f"version of {name}": version for name, version in versions(details.distributions).items()}
    return Key(_KIND, parts), None


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _without_lines(text: str) -> str:
    """The text with a number in the place of each line of a file: in their order, so that equal ones stay equal."""
    numbers: dict[str, str] = {}
    return _LINE.sub(lambda match: numbers.setdefault(match.group(), f"line {len(numbers)}"), text)


def _locations(programs: Programs) -> Iterator[LocationAttr]:
    """The locations of the ops of programs, in order."""
    for ones in programs.values():
        for program in ones:
            for op in program.walk():
                yield op.location


# -- the form of results


class _Foreign(Exception):
    """A location that is none of the program's."""


def _keep(
    store: Store, key: Key, results: Results, programs: Programs, locations: Sequence[LocationAttr]
) -> None:
    """Keep results, if they are some for these programs, and can be kept."""
    if not _fit(results, programs):
        return
    numbers: dict[LocationAttr, int] = {}
    for number, location in enumerate(locations):
        numbers.setdefault(location, number)
    contents: list[Blob | bytes] = []
    try:
        facts = {
            method: [_encoded(one, numbers, contents) for one in ones] for method, ones in results.items()
        }
    except _Foreign:
        return
    store.keep(key, facts, contents)


def _fit(results: object, programs: Programs) -> bool:
    if not isinstance(results, Mapping):
        return False
    made = cast("Mapping[str, Sequence[object]]", results)
    for method, ones in programs.items():
        given = made.get(method, ())
        if len(given) != len(ones) or not all(isinstance(one, PreprocessResult) for one in given):
            return False
    return True


def _encoded(
    result: PreprocessResult, numbers: Mapping[LocationAttr, int], contents: list[Blob | bytes]
) -> dict[str, Any]:
    """A result as JSON has it; its bytes are added to `contents`. Raises `_Foreign`."""
    processed = result.processed_bytes
    contents.append(processed if isinstance(processed, Blob) else bytes(processed))
    store = result.data_store_output
    data: dict[str, Any] | None = None
    if store is not None:
        contents += store.buffers
        files = [(None, store.pte_data), *store.external_data.items()]
        data = {
            "buffers": [blob.key for blob in store.buffers],
            "files": [[file, [[key, *_numbers(one)] for key, one in data.items()]] for file, data in files],
        }
    return {
        "handles": [
            [key, [_number(one, numbers) for one in ones]] for key, ones in result.debug_handle_map.items()
        ],
        "orders": [[key, list(order)] for key, order in result.debug_orders.items()],
        "data": data,
        "alignment": result.alignment,
        "specs": [[spec.key, spec.value.hex()] for spec in result.compile_specs],
        "updates": [list(one) for one in result.updates.items()],
    }


def _numbers(entry: DataEntry) -> tuple[int, int]:
    return entry.buffer_index, entry.alignment


def _number(location: LocationAttr, numbers: Mapping[LocationAttr, int]) -> int:
    if location == UNKNOWN_LOC:
        return -1
    if location not in numbers:
        raise _Foreign
    return numbers[location]


def _decoded(entry: Entry, locations: Sequence[LocationAttr]) -> Results:
    """Results of an entry."""
    contents = iter(entry.contents)
    return {
        method: [_result(one, contents, locations) for one in ones] for method, ones in entry.facts.items()
    }


def _result(
    facts: Mapping[str, Any], contents: Iterator[memoryview], locations: Sequence[LocationAttr]
) -> PreprocessResult:
    processed = bytes(next(contents))
    data = cast("Mapping[str, Any] | None", facts["data"])
    store: NamedDataStoreOutput | None = None
    if data is not None:
        buffers = tuple(Blob.of(key, next(contents)) for key in data["buffers"])
        files = {
            file: {key: DataEntry(index, alignment) for key, index, alignment in entries}
            for file, entries in data["files"]
        }
        store = NamedDataStoreOutput(buffers, files.pop(None), files)
    handles: dict[int | str, list[LocationAttr]] = {
        key: [UNKNOWN_LOC if one < 0 else locations[one] for one in ones] for key, ones in facts["handles"]
    }
    return PreprocessResult(
        processed,
        handles,
        debug_orders={key: tuple(order) for key, order in facts["orders"]},
        data_store_output=store,
        alignment=facts["alignment"],
        compile_specs=[CompileSpec(key, bytes.fromhex(value)) for key, value in facts["specs"]],
        updates=dict(facts["updates"]),
    )
