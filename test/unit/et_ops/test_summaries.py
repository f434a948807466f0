"""Every operator has a sentence that says what it computes."""

from __future__ import annotations

import inspect
import re

import pytest

from et_ir.dialects.aten import OP_BY_NAME as ATEN
from et_ir.dialects.edge import OP_BY_NAME as EDGE
from et_ops import OPERATORS
from et_ops.summaries import SUMMARIES, operator_summary, read_summaries, summary_of

LIMIT = 120
"""Characters of the longest sentence that fits in a line of a docstring."""


def packet(name: str) -> str:
    """The name of an operator without its overload: `add.Tensor` is `add`."""
    namespace, dot, rest = name.partition(".")
    if dot and namespace in ("dim_order_ops", "grouped", "integer", "quantized_decomposed", "torchvision"):
        return f"{namespace}.{rest.partition('.')[0]}"
    return namespace


def test_every_operator_has_one_and_no_other():
    wanted = {packet(name) for name in ATEN.keys() | EDGE.keys()}
    assert read_summaries().keys() == wanted


def test_every_entry_finds_its_own():
    assert all(operator_summary(one) for one in OPERATORS.values())


def test_an_unknown_operator_has_none():
    with pytest.raises(KeyError):
        summary_of("aten", "no_such_operator")


def test_table_is_sorted_and_unique():
    names = [line.partition("\t")[0] for line in SUMMARIES.read_text(encoding="utf-8").splitlines()]
    assert names == sorted(set(names))


@pytest.mark.parametrize("name", sorted(read_summaries()))
def test_is_one_sentence(name: str):
    sentence = read_summaries()[name]
    assert sentence.endswith(".")
    assert len(sentence) <= LIMIT
    assert not re.search(r"[.!?] [A-Z]", sentence), sentence
    assert sentence == sentence.strip()
    assert '"""' not in sentence
    assert "\\" not in sentence


def test_docstrings_start_with_them():
    for name, cls in (*ATEN.items(), *EDGE.items()):
        documentation = inspect.getdoc(cls)
        assert documentation is not None
        assert documentation.partition("\n")[0] == read_summaries()[packet(name)]
