"""The differences of two programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING

from et_tools.diff.described import DescribedMethod
from et_tools.diff.difference import Difference
from et_tools.diff.instructions import compare_instructions
from et_tools.diff.weights import compare_weights

if TYPE_CHECKING:
    from et_vm.program import Program


def differences(first: Program, second: Program) -> list[Difference]:
    """Everything in which two programs differ: file, methods, constants, data. Empty if they are the same program."""
    found: list[Difference] = []
    found += _tables("file", _file(first), _file(second))
    names = dict.fromkeys((*first.method_names, *second.method_names))
    for name in names:
        if name not in first.method_names:
            found.append(Difference("methods", None, name))
        elif name not in second.method_names:
            found.append(Difference("methods", name, None))
        else:
            found += _methods(DescribedMethod(first, name), DescribedMethod(second, name))
    found += compare_weights(first, second)
    found += _tables("named data", _blobs(first), _blobs(second))
    return found


def _tables(where: str, before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Difference]:
    """Differences of two tables of facts by name."""
    for name in dict.fromkeys((*before, *after)):
        old, new = before.get(name), after.get(name)
        if old != new:
            yield Difference(
                where,
                None if old is None else f"{name}: {old}",
                None if new is None else f"{name}: {new}",
            )


def _file(program: Program) -> dict[str, str]:
    pte = program.pte
    constants = pte.program.constant_segment
    inline = sum(len(buffer.storage) for buffer in pte.program.constant_buffer)
    return {
        "version": str(pte.program.version),
        "extended header": "none" if pte.header is None else f"{pte.header.length} bytes",
        "constants": "inline" if inline else "none" if constants is None else "in a segment",
        "inline delegates": str(len(pte.program.backend_delegate_data)),
        "segments": str(len(pte.segments)),
    }


def _blobs(program: Program) -> dict[str, str]:
    """Named data in the file and outside of it, but not the names of constants: weights are compared by them."""
    from et_schema.digests import KEY as DIGESTS
    from et_schema.digests import digests_of
    from et_schema.names import KEY as NAMES

    named = program.pte.named_data().items()
    outside = {f"{key} (external)": f"#{digest[:8]}" for key, digest in digests_of(program.pte).items()}
    return outside | {key: _blob(data) for key, data in named if key not in (NAMES, DIGESTS)}


def _blob(data: memoryview) -> str:
    return f"{data.nbytes:,} bytes #{sha256(data).hexdigest()[:8]}"


def _methods(first: DescribedMethod, second: DescribedMethod) -> Iterator[Difference]:
    name = first.name
    for which in ("inputs", "outputs"):
        before, after = getattr(first, which)(), getattr(second, which)()
        yield from _tables(f"{name}, {which}", _numbered(before), _numbered(after))
    for which, old, new in zip(("inputs", "outputs"), first.structure(), second.structure(), strict=True):
        if old != new:
            yield Difference(f"{name}, structure of {which}", old or None, new or None)
    yield from _tables(f"{name}, arenas", _sized(first.arenas()), _sized(second.arenas()))
    yield from _tables(f"{name}, delegates", _delegates(first), _delegates(second))
    yield from compare_instructions(first, second)


def _numbered(values: list[str]) -> dict[str, str]:
    return {str(index): value for index, value in enumerate(values)}


def _sized(arenas: dict[int, int]) -> dict[str, str]:
    return {f"arena {memory_id}": f"{size:,} bytes" for memory_id, size in arenas.items()}


def _delegates(method: DescribedMethod) -> dict[str, str]:
    found: dict[str, str] = {}
    for index, delegate in enumerate(method.plan.delegates):
        specs = ", ".join(f"{spec.key}={bytes(spec.value)!r}" for spec in delegate.compile_specs)
        found[f"delegate {index}"] = (
            f"{delegate.id} {_blob(method.delegate_blob(index))}{' ' if specs else ''}{specs}"
        )
    return found
