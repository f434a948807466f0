"""Kernels alone: the calls that a sample comes down to in eager mode, replayed through both libraries."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterator

import torch
from kernel_oracle import Recorded, check, record, registry

from sweep.end_to_end import first_line
from sweep.samples import DTYPES, Sample

LIBRARIES = ("portable", "aten")
KNOWN = frozenset(DTYPES.values())


def _tensors(values: object) -> Iterator[torch.Tensor]:
    if isinstance(values, torch.Tensor):
        yield values
    elif isinstance(values, list | tuple):
        for value in values:
            yield from _tensors(value)


def _expressible(call: Recorded) -> bool:
    """Whether a file can have the call: its types are swept, no number is complex, and no copy is asynchronous, which
    upstream's kernels refuse.
    """
    if call.operator == "aten::_to_copy.out" and call.arguments[1] is True:
        return False
    tensors = [*_tensors(call.arguments), *call.results]
    return all(tensor.dtype in KNOWN for tensor in tensors) and not any(
        isinstance(value, complex) for value in call.arguments
    )


def replay(sample: Sample) -> dict[str, list[str]]:
    """For each operator and library (`aten::add.out portable`) the outcomes of the calls of `sample`: ""
    where the results are torch's, else why they are not.
    """
    outcomes: dict[str, list[str]] = defaultdict(list)
    names = set(registry("portable").names())
    with warnings.catch_warnings(action="ignore"):  # torch's own, of the arguments that its samples have
        calls = record(
            lambda: sample.module(*(value.clone() for value in sample.inputs)),
            keep=lambda operator, dtype: operator in names,
        )
    for call in filter(_expressible, calls):
        for library in LIBRARIES:
            outcomes[f"{call.operator} {library}"].append(_outcome(library, call))
    return dict(outcomes)


def _outcome(library: str, call: Recorded) -> str:
    try:
        with warnings.catch_warnings():
            if library == "aten":  # torch computes, and warns as in eager mode
                warnings.simplefilter("ignore", UserWarning)
            check(library, call)
    except Exception as problem:
        return f"{call}: {type(problem).__name__}: {first_line(problem)}"
    return ""
