"""Numbers of results that a few bytes of a program ask for."""

from __future__ import annotations

from typing import Any

import pytest

from et_ops import OPERATORS
from et_ops.dtypes import F32, I64
from et_ops.inference.meta import Meta, Mismatch

HUGE = 2**40


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("split.Tensor", (Meta((HUGE,), F32), 1, 0)),
        ("split_copy.Tensor", (Meta((HUGE,), F32), 1, 0)),
        ("chunk", (Meta((HUGE,), F32), HUGE, 0)),
        ("chunk", (Meta((0,), F32), HUGE, 0)),
        ("unsafe_chunk", (Meta((HUGE,), F32), HUGE, 0)),
        ("tensor_split.sections", (Meta((4,), F32), HUGE, 0)),
        ("hsplit.int", (Meta((4,), F32), HUGE)),
        ("vsplit.int", (Meta((4, 4), F32), HUGE)),
        ("dsplit.int", (Meta((4, 4, 4), F32), HUGE)),
        ("unbind.int", (Meta((HUGE,), F32), 0)),
        ("unbind_copy.int", (Meta((HUGE, 2), F32), 0)),
        ("tensor_split.tensor_indices_or_sections", (Meta((4,), F32), Meta((HUGE,), I64), 0)),
    ],
)
def test_more_than_a_program_can_hold(name: str, arguments: tuple[Any, ...]) -> None:
    rule: Any = OPERATORS[name].shape_rule
    with pytest.raises(Mismatch, match="at most 100,000 results"):
        rule(*arguments)
