"""Regular expressions over bytes against Python's own."""

from __future__ import annotations

import random
import re

import pytest

from et_schema.errors import InputError
from et_vm.llm import regular
from et_vm.llm.regular import Automaton, byte_sequences

EXPRESSIONS = [
    "",
    "abc",
    "a|bc|",
    "(ab)*c+",
    "a?b{2}c{1,2}",
    "a{2,}b{0}",
    "(a|b){0,3}c",
    "[a-c]*",
    "[^a]b",
    "[]a]+",
    r"\d+(\.\d*)?",
    r"\w\W\s\S",
    r"[\d\-x]+",
    "a.c",
    "(?:a|(b|c)d)*",
    "[ä-ü€]+",
    "[^ä]",
    r"\{\}\[\]",
    r"\x41\u20ac",
    "((a*)*)*b",
    "x{0,2}y{3}",
]
ALPHABET = "abcdxy01. \n-]{}[äöü€😀_A"


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_same_as_python(expression: str) -> None:
    automaton, pattern = Automaton(expression), re.compile(expression, re.ASCII)
    choose = random.Random(expression)
    texts = {"", *ALPHABET}
    texts |= {"".join(choose.choices(ALPHABET, k=choose.randint(1, 6))) for _ in range(2000)}
    short = "abcd" if re.search("[a-d]", expression) else "01x.y"
    texts |= {"".join(choose.choices(short, k=choose.randint(1, 6))) for _ in range(2000)}
    wrong = [text for text in texts if automaton.matches(text) != bool(pattern.fullmatch(text))]
    assert not wrong


@pytest.mark.parametrize(
    ("first", "last"),
    [(0, 0x10FFFF), (0x70, 0x90), (0x7F0, 0x810), (0xD7F0, 0xE010), (0xFFF0, 0x10020), (65, 65)],
)
def test_bytes_of_characters(first: int, last: int) -> None:
    sequences = list(byte_sequences(first, last))
    for code in {*range(first, min(first + 40, last + 1)), *range(max(first, last - 40), last + 1)}:
        if 0xD800 <= code < 0xE000:
            continue
        text = chr(code).encode()
        matching = [
            one
            for one in sequences
            if len(one) == len(text) and all(a <= byte <= b for (a, b), byte in zip(one, text, strict=True))
        ]
        assert len(matching) == 1, hex(code)
    for one in sequences:
        for pick in (0, 1):
            code = ord(bytes(span[pick] for span in one).decode())
            assert first <= code <= last


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("a)", "closes nothing"),
        ("(a", "ends too early"),
        ("[a", "ends too early"),
        ("*a", "repeats nothing"),
        ("a{x}", "begin a number of repetitions"),
        ("a{3,2}", "in order"),
        ("a{1001}", "at most 1000"),
        ("[z-a]", "out of order"),
        ("(?=a)", "not supported"),
        ("^a$", "of the whole text"),
        (r"\b", "not supported"),
        (r"\xg", "hexadecimal"),
        ("a\\", "ends too early"),
        ("(" * 5000 + ")" * 5000, "nested too deeply"),
        ("((a{1000}){1000}){1000}", "more than 500,000 states"),
        ("([acegikmoqsuwyACEGIKMOQSUWY02468]{100}){400}", "more than 1,000,000 connections"),
        ("a" * (1 << 20) + "b", "1,048,577 characters"),
        ("a{" + "1" * 5000 + "}", "above 1000"),
        ("a{0," + "1" * 5000 + "}", "above 1000"),
        ("ab\udcff", "not in UTF-8 at character 2"),
    ],
)
def test_refusals(expression: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Automaton(expression)


def test_ends() -> None:
    automaton = Automaton("ab?")
    state = automaton.after(automaton.start, ord("a"))
    assert automaton.is_match(state)
    assert not automaton.is_final(state)
    state = automaton.after(state, ord("b"))
    assert automaton.is_final(state)
    assert not automaton.after(state, ord("c"))


def test_classes_of_neighbours_are_ranges() -> None:
    """A class of a thousand characters that is repeated a thousand times has as many connections as one of a range."""
    automaton = Automaton("[" + "".join(map(chr, range(0x4E00, 0x4E00 + 1000))) + "a-fd-z]{1000}")
    assert automaton.matches("".join(map(chr, range(0x4E00, 0x4E00 + 974))) + "abcdefghijklmnopqrstuvwxyz")
    assert not automaton.matches("A" * 1000)


def test_visited_states_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regular, "_MOST_KEPT", 100)
    automaton = Automaton("(a|b)*a(a|b){5}")
    for number in range(1 << 8):
        text = f"{number:08b}".replace("0", "a").replace("1", "b")
        assert automaton.matches(text) == (text[2] == "a")
