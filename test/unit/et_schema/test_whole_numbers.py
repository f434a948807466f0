"""Whole numbers in text."""

from __future__ import annotations

import pytest

from et_schema.whole_numbers import MAX_WHOLE_NUMBER, shortened, whole_number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("00", 0),
        ("0017", 17),
        (str(MAX_WHOLE_NUMBER), MAX_WHOLE_NUMBER),
        ("0" * 5000 + "3", 3),
        (str(MAX_WHOLE_NUMBER + 1), None),
        ("9" * 5000, None),
        *((text, None) for text in ("", "-1", "+1", " 1", "1_0", "1.0", "0x1", "１２", "²", "a")),
    ],
    ids=lambda value: shortened(str(value)),
)
def test_numbers(text: str, number: int | None) -> None:
    assert whole_number(text) == number


def test_messages_show_the_beginning_of_a_long_text() -> None:
    assert shortened("17") == "17"
    assert shortened("9" * 5000) == "9" * 39 + "…"
