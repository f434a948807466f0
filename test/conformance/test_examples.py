"""Torch takes the calls that examples of operators are written from, and gives results of the types they have."""

from __future__ import annotations

import warnings

from dev.examples import text_of, written_calls
from et_ir.dialects.schema.examples import read_examples


def test_written_calls_are_the_examples():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        calls = list(written_calls())
    for call in calls:
        assert text_of(call) == read_examples()[call.name], "run python -m dev.examples"
    assert len(calls) == len({call.name for call in calls})
