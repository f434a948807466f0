"""Regular expressions as automata over the bytes of UTF-8.

After Thompson 1968: an expression is a nondeterministic automaton, whose sets of states are visited, and remembered, as
they are reached. Ranges of characters become sequences of ranges of bytes as in Cox 2010, "Regular expression matching
in the wild".
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from et_schema.errors import InputError
from et_schema.whole_numbers import shortened

__all__ = ["LONGEST", "Automaton", "State"]

State = frozenset[int]
"""States of the expression that the text so far may have led to."""

_LAST: Final = 0x10FFFF
LONGEST: Final = 1 << 20
"""The most characters of an expression."""
_MOST: Final = 1000
"""The largest number of repetitions that an expression may name."""
_MOST_STATES: Final = 500_000
"""The most states of an automaton; with the connections, it takes some 20 MB at most."""
_MOST_EDGES: Final = 1_000_000
"""The most connections of states."""
_MOST_KEPT: Final = 4_000_000
"""The most states of all sets that have been visited, and ways between these; with more, they are forgotten."""
_CLASSES: Final = {
    "d": [(48, 57)],
    "w": [(48, 57), (65, 90), (95, 95), (97, 122)],
    "s": [(9, 13), (32, 32)],
}
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "0": "\0"}

_QUANTIFIERS: Final = ("?", "*", "+", "{")

Ranges = list[tuple[int, int]]


class Automaton:
    """A regular expression, which a whole text has to match.

    It has characters, `.`, classes `[a-z]`, `[^a-z]`, `\\d`, `\\w`, `\\s` and their opposites, groups, `|`, `?`, `*`,
    `+`, `{m}`, `{m,}` and `{m,n}`. Raises InputError, with the place, for anything else, and for an expression whose
    automaton is too large.
    """

    def __init__(self, expression: str) -> None:
        # Connections of a state are a linked list in arrays: there may be a million.
        self._edges = array("i")
        """By state, the last connection by bytes from it, or -1."""
        self._empty = array("i")
        """By state, the last connection by nothing from it, or -1."""
        self._to = array("i")
        """By connection, the state that it leads to."""
        self._previous = array("i")
        """By connection, the one before it of the same list, or -1."""
        self._first, self._last = bytearray(), bytearray()
        """By connection, the first and the last byte that it is for."""
        if len(expression) > LONGEST:
            raise InputError(
                f"regular expression: {len(expression):,} characters, which are more than {LONGEST:,}"
            )
        try:
            expression.encode()
        except UnicodeEncodeError as error:
            raise InputError(f"regular expression: it is not in UTF-8 at character {error.start}") from None
        try:
            first, self._end = _Parser(expression, self).parsed()
        except RecursionError:
            raise InputError("regular expression: its groups are nested too deeply") from None
        self.start: State = self._closed((first,))
        """Where a text begins."""
        self._next: dict[tuple[State, int], State] = {}
        self._sets: dict[State, State] = {}
        """The sets that have been visited: equal ones are one."""
        self._kept = 0

    def new_state(self) -> int:
        """Another state, that nothing leads from. Raises InputError for one too many."""
        if len(self._edges) == _MOST_STATES:
            raise InputError(
                f"regular expression: its automaton has more than {_MOST_STATES:,} states",
                hint="repeat less often, or smaller parts",
            )
        self._edges.append(-1)
        self._empty.append(-1)
        return len(self._edges) - 1

    def connect(self, one: int, other: int, span: tuple[int, int] | None = None) -> None:
        """Let a byte in a range, or nothing, lead from a state to another. Raises InputError for one too many."""
        number = len(self._to)
        if number == _MOST_EDGES:
            raise InputError(
                f"regular expression: its automaton has more than {_MOST_EDGES:,} connections",
                hint="repeat less often, or smaller parts",
            )
        lists = self._empty if span is None else self._edges
        first, last = span or (0, 0)
        self._to.append(other)
        self._first.append(first)
        self._last.append(last)
        self._previous.append(lists[one])
        lists[one] = number

    def copy(self, begin: int, end: int, part: _Part) -> _Part:
        """Copy the states of a range, which lead to none outside of it, and return the copy of a part of them."""
        by = len(self._edges) - begin
        for state in range(begin, end):
            copied = self.new_state()
            for number in self._connections(self._edges[state]):
                self.connect(copied, self._to[number] + by, (self._first[number], self._last[number]))
            for number in self._connections(self._empty[state]):
                self.connect(copied, self._to[number] + by)
        return _Part(part.first + by, part.last + by)

    def _connections(self, number: int) -> Iterator[int]:
        """The connections of a list that ends with this one."""
        while number >= 0:
            yield number
            number = self._previous[number]

    @property
    def size(self) -> int:
        """The number of states."""
        return len(self._edges)

    def _closed(self, states: Iterable[int]) -> State:
        pending, found = list(states), set[int]()
        while pending:
            state = pending.pop()
            if state not in found:
                found.add(state)
                number = self._empty[state]
                while number >= 0:
                    pending.append(self._to[number])
                    number = self._previous[number]
        return frozenset(found)

    def after(self, state: State, byte: int) -> State:
        """Where a byte leads; an empty set if it leads nowhere."""
        known = self._next.get((state, byte))
        if known is None:
            found = self._closed(self._reached(state, byte))
            known = self._sets.get(found)
            if known is None:
                known = found
                self._kept += len(known)
            self._kept += 1
            if self._kept > _MOST_KEPT:
                self._next.clear()
                self._sets.clear()
                self._kept = len(known) + 1
            self._sets[known] = known
            self._next[state, byte] = known
        return known

    def _reached(self, state: State, byte: int) -> list[int]:
        """The states that a byte leads to."""
        first, last, previous = self._first, self._last, self._previous
        reached: list[int] = []
        for one in state:
            number = self._edges[one]
            while number >= 0:
                if first[number] <= byte <= last[number]:
                    reached.append(self._to[number])
                number = previous[number]
        return reached

    def is_match(self, state: State) -> bool:
        """Whether the text so far matches."""
        return self._end in state

    def is_final(self, state: State) -> bool:
        """Whether nothing can follow."""
        return all(self._edges[one] < 0 for one in state)

    def matches(self, text: str) -> bool:
        """Whether a whole text matches."""
        state = self.start
        for byte in text.encode():
            state = self.after(state, byte)
        return self.is_match(state)


class _Part(NamedTuple):
    """A piece of the automaton, from its first state to its last."""

    first: int
    last: int


class _Parser:
    def __init__(self, text: str, automaton: Automaton) -> None:
        self._text = text
        self._at = 0
        self._automaton = automaton

    def parsed(self) -> _Part:
        part = self._alternatives()
        if self._at < len(self._text):
            raise self._wrong(f"'{self._text[self._at]}' closes nothing")
        return part

    def _wrong(self, message: str) -> InputError:
        text = repr(shortened(self._text))
        return InputError(f"regular expression: {message}, at character {self._at} of {text}")

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _take(self) -> str:
        found = self._peek()
        if not found:
            raise self._wrong("it ends too early")
        self._at += 1
        return found

    def _alternatives(self) -> _Part:
        parts = [self._sequence()]
        while self._peek() == "|":
            self._at += 1
            parts.append(self._sequence())
        if len(parts) == 1:
            return parts[0]
        made = self._automaton
        outer = _Part(made.new_state(), made.new_state())
        for part in parts:
            made.connect(outer.first, part.first)
            made.connect(part.last, outer.last)
        return outer

    def _sequence(self) -> _Part:
        made = self._automaton
        first = last = made.new_state()
        while self._peek() not in ("", "|", ")"):
            last = self._item(last)
        return _Part(first, last)

    def _item(self, before: int) -> int:
        """The state that a character or group, as often as it stands, leads to from the state `before`."""
        made, begin = self._automaton, self._automaton.size
        ranges = self._characters()
        if ranges is None:
            part = self._group()
        elif self._peek() in _QUANTIFIERS:
            first = made.new_state()
            part = _Part(first, self._one_of(first, ranges))
        else:
            # Most of a long expression is like this, and takes one state.
            return self._one_of(before, ranges)
        counts = self._counts()
        if counts is not None:
            part = self._repeated(part, begin, *counts)
        made.connect(before, part.first)
        return part.last

    def _repeated(self, part: _Part, begin: int, least: int, most: int | None) -> _Part:
        """Repetitions of the part that the states from `begin` are of."""
        made = self._automaton
        end = made.size
        copies = [part, *(made.copy(begin, end, part) for _ in range(max(least, most or 0, 1) - 1))]
        outer = _Part(made.new_state(), made.new_state())
        last = outer.first
        for number, copy in enumerate(copies):
            if number >= least:
                made.connect(last, outer.last)
            made.connect(last, copy.first)
            last = copy.last
        if most is None:
            made.connect(copies[-1].last, copies[-1].first)
        if most != 0:
            made.connect(last, outer.last)
        return outer

    def _counts(self) -> tuple[int, int | None] | None:
        """How often what was read stands: at least, and at most if that is limited."""
        sign = self._peek()
        simple: dict[str, tuple[int, int | None]] = {"?": (0, 1), "*": (0, None), "+": (1, None)}
        if sign in simple and sign:
            self._at += 1
            return simple[sign]
        if sign != "{":
            return None
        close = self._text.find("}", self._at)
        inner = self._text[self._at + 1 : close] if close > 0 else ""
        low, comma, high = inner.partition(",")
        if not low.isdecimal() or not (high.isdecimal() or high == ""):
            raise self._wrong("'{' does not begin a number of repetitions; write '\\{' for the character")
        self._at = close + 1
        # Longer numbers are too large, and so long that Python does not read them.
        if max(len(low), len(high)) > len(str(_MOST)):
            raise self._wrong(f"'{{' names a number of repetitions above {_MOST}")
        least = int(low)
        most = (int(high) if high else None) if comma else least
        if max(least, most or 0) > _MOST or (most is not None and most < least):
            raise self._wrong(f"{{{inner}}}: expected at most {_MOST} repetitions, in order")
        return least, most

    def _group(self) -> _Part:
        """A group after its opening parenthesis."""
        if self._peek() == "?":
            if self._text[self._at : self._at + 2] != "?:":
                raise self._wrong("groups with '(?' other than '(?:' are not supported")
            self._at += 2
        part = self._alternatives()
        if self._take() != ")":
            raise self._wrong("a group is not closed")
        return part

    def _characters(self) -> Ranges | None:
        """The characters of which one stands here, None at a group."""
        sign = self._take()
        if sign == "(":
            return None
        if sign == "[":
            return self._class()
        if sign == ".":
            return _opposite([(10, 10)])
        if sign == "\\":
            return self._escape()
        if sign in "*+?{":
            self._at -= 1
            raise self._wrong(f"'{sign}' repeats nothing")
        if sign in "^$":
            self._at -= 1
            raise self._wrong(f"'{sign}' is not supported: the expression is of the whole text")
        return [(ord(sign), ord(sign))]

    def _escape(self) -> Ranges:
        sign = self._take()
        if sign.lower() in _CLASSES:
            found = _CLASSES[sign.lower()]
            return _opposite(found) if sign.isupper() else found
        if sign in ("x", "u"):
            digits = self._text[self._at : self._at + (2 if sign == "x" else 4)]
            try:
                code = int(digits, 16)
            except ValueError:
                raise self._wrong(f"'\\{sign}' without hexadecimal digits") from None
            self._at += len(digits)
            return [(code, code)]
        if sign.isalnum() and sign not in _ESCAPES:
            raise self._wrong(f"'\\{sign}' is not supported")
        code = ord(_ESCAPES.get(sign, sign))
        return [(code, code)]

    def _class(self) -> Ranges:
        is_opposite = self._peek() == "^"
        self._at += is_opposite
        found: Ranges = []
        while not found or self._peek() != "]":
            one = self._member()
            if (
                len(one) == 1
                and one[0][0] == one[0][1]
                and self._peek() == "-"
                and self._text[self._at + 1 : self._at + 2] != "]"
            ):
                self._at += 1
                other = self._member()
                if len(other) != 1 or other[0][0] != other[0][1] or other[0][0] < one[0][0]:
                    raise self._wrong("a range of characters out of order")
                one = [(one[0][0], other[0][0])]
            found += one
        self._at += 1
        return _opposite(found) if is_opposite else found

    def _member(self) -> Ranges:
        sign = self._take()
        return self._escape() if sign == "\\" else [(ord(sign), ord(sign))]

    def _one_of(self, before: int, ranges: Ranges) -> int:
        """The state that one of some characters leads to from the state `before`."""
        made = self._automaton
        after = made.new_state()
        for first, last in _united(ranges):
            for spans in byte_sequences(first, last):
                state = before
                for span in spans[:-1]:
                    other = made.new_state()
                    made.connect(state, other, span)
                    state = other
                made.connect(state, after, spans[-1])
        return after


def _united(ranges: Ranges) -> Ranges:
    """The same characters in ranges that neither overlap nor touch."""
    found: Ranges = []
    for first, last in sorted(ranges):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return found


def _opposite(ranges: Ranges) -> Ranges:
    found: Ranges = []
    at = 0
    for first, last in sorted(ranges):
        if first > at:
            found.append((at, first - 1))
        at = max(at, last + 1)
    if at <= _LAST:
        found.append((at, _LAST))
    return found


def byte_sequences(first: int, last: int) -> Iterator[Ranges]:
    """The characters from `first` to `last` as sequences of ranges of bytes, without surrogates."""
    for low, high in ((0, 0x7F), (0x80, 0x7FF), (0x800, 0xD7FF), (0xE000, 0xFFFF), (0x10000, _LAST)):
        bottom, top = max(first, low), min(last, high)
        if bottom <= top:
            yield from _same_length(chr(bottom).encode(), chr(top).encode())


def _same_length(low: bytes, high: bytes) -> Iterator[Ranges]:
    """Sequences from one to another, in which each byte but the first is from 0x80 to 0xBF."""
    if len(low) == 1:
        yield [(low[0], high[0])]
        return
    rest = len(low) - 1
    least, most = bytes([0x80] * rest), bytes([0xBF] * rest)
    if low[0] == high[0]:
        yield from ([(low[0], low[0]), *tail] for tail in _same_length(low[1:], high[1:]))
        return
    first, last = low[0], high[0]
    if low[1:] != least:
        yield from ([(first, first), *tail] for tail in _same_length(low[1:], most))
        first += 1
    ends = high[1:] != most
    last -= ends
    if first <= last:
        yield [(first, last), *[(0x80, 0xBF)] * rest]
    if ends:
        yield from ([(high[0], high[0]), *tail] for tail in _same_length(least, high[1:]))
