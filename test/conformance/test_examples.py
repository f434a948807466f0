"""Torch takes the calls that examples of operators are written from, and gives results of the types they have."""

from __future__ import annotations

import warnings

from et_ir.registry.example_texts import read_examples
from et_ir.registry.examples import text_of, written_calls


def test_written_calls_are_the_examples():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        calls = list(written_calls())
    for call in calls:
        assert text_of(call) == read_examples()[call.name], "run python -m et_ir.registry.examples"
    assert len(calls) == len({call.name for call in calls})
