"""Regular expressions as automata over the bytes of UTF-8.

After Thompson 1968: an expression is a nondeterministic automaton, whose sets of states are visited, and remembered, as
they are reached. Ranges of characters become sequences of ranges of bytes as in Cox 2010, "Regular expression matching
in the wild".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from et_schema.errors import InputError

__all__ = ["Automaton", "State"]

State = frozenset[int]
"""States of the expression that the text so far may have led to."""

_LAST: Final = 0x10FFFF
_MOST: Final = 1000
"""The largest number of repetitions that an expression may name."""
_MOST_STATES: Final = 500_000
"""The most states of an automaton; more would take hundreds of megabytes."""
_MOST_EDGES: Final = 1_000_000
"""The most connections of states."""
_MOST_KEPT: Final = 4_000_000
"""The most states that sets which have been visited have in all; with more, they are forgotten."""
_CLASSES: Final = {
    "d": [(48, 57)],
    "w": [(48, 57), (65, 90), (95, 95), (97, 122)],
    "s": [(9, 13), (32, 32)],
}
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "0": "\0"}

Ranges = list[tuple[int, int]]


class Automaton:
    """A regular expression, which a whole text has to match.

    It has characters, `.`, classes `[a-z]`, `[^a-z]`, `\\d`, `\\w`, `\\s` and their opposites, groups, `|`, `?`, `*`,
    `+`, `{m}`, `{m,}` and `{m,n}`. Raises InputError, with the place, for anything else, and for an expression whose
    automaton is too large.
    """

    def __init__(self, expression: str) -> None:
        self._edges: list[list[tuple[int, int, int]]] = []
        """By state: first and last byte, and the state that they lead to."""
        self._empty: list[list[int]] = []
        """By state: those that nothing leads to."""
        self._connections = 0
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
        self._kept = 0

    def new_state(self) -> int:
        """Another state, that nothing leads from. Raises InputError for one too many."""
        if len(self._edges) == _MOST_STATES:
            raise InputError(
                f"regular expression: its automaton has more than {_MOST_STATES:,} states",
                hint="repeat less often, or smaller parts",
            )
        self._edges.append([])
        self._empty.append([])
        return len(self._edges) - 1

    def connect(self, one: int, other: int, span: tuple[int, int] | None = None) -> None:
        """Let a byte in a range, or nothing, lead from a state to another. Raises InputError for one too many."""
        self._count_connections(1)
        if span is None:
            self._empty[one].append(other)
        else:
            self._edges[one].append((*span, other))

    def copy(self, begin: int, end: int, part: _Part) -> _Part:
        """Copy the states of a range, which lead to none outside of it, and return the copy of a part of them."""
        by = len(self._edges) - begin
        for state in range(begin, end):
            edges, empty = self._edges[state], self._empty[state]
            self._count_connections(len(edges) + len(empty))
            self.new_state()
            self._edges[-1] += [(first, last, other + by) for first, last, other in edges]
            self._empty[-1] += [other + by for other in empty]
        return _Part(part.first + by, part.last + by)

    def _count_connections(self, more: int) -> None:
        self._connections += more
        if self._connections > _MOST_EDGES:
            raise InputError(
                f"regular expression: its automaton has more than {_MOST_EDGES:,} connections",
                hint="repeat less often, or smaller parts",
            )

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
                pending += self._empty[state]
        return frozenset(found)

    def after(self, state: State, byte: int) -> State:
        """Where a byte leads; an empty set if it leads nowhere."""
        known = self._next.get((state, byte))
        if known is None:
            to = (other for one in state for first, last, other in self._edges[one] if first <= byte <= last)
            known = self._closed(to)
            self._kept += len(known) + 1
            if self._kept > _MOST_KEPT:
                self._next.clear()
                self._kept = len(known) + 1
            self._next[state, byte] = known
        return known

    def is_match(self, state: State) -> bool:
        """Whether the text so far matches."""
        return self._end in state

    def is_final(self, state: State) -> bool:
        """Whether nothing can follow."""
        return not any(self._edges[one] for one in state)

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
        return InputError(f"regular expression: {message}, at character {self._at} of {self._text!r}")

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
            part = self._repeated()
            made.connect(last, part.first)
            last = part.last
        return _Part(first, last)

    def _repeated(self) -> _Part:
        begin = self._automaton.size
        part = self._atom()
        counts = self._counts()
        if counts is None:
            return part
        least, most = counts
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

    def _atom(self) -> _Part:
        sign = self._take()
        if sign == "(":
            if self._peek() == "?":
                if self._text[self._at : self._at + 2] != "?:":
                    raise self._wrong("groups with '(?' other than '(?:' are not supported")
                self._at += 2
            part = self._alternatives()
            if self._take() != ")":
                raise self._wrong("a group is not closed")
            return part
        if sign == "[":
            return self._one_of(self._class())
        if sign == ".":
            return self._one_of(_opposite([(10, 10)]))
        if sign == "\\":
            return self._one_of(self._escape())
        if sign in "*+?{":
            self._at -= 1
            raise self._wrong(f"'{sign}' repeats nothing")
        if sign in "^$":
            self._at -= 1
            raise self._wrong(f"'{sign}' is not supported: the expression is of the whole text")
        return self._one_of([(ord(sign), ord(sign))])

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

    def _one_of(self, ranges: Ranges) -> _Part:
        made = self._automaton
        part = _Part(made.new_state(), made.new_state())
        for first, last in _united(ranges):
            for spans in byte_sequences(first, last):
                state = part.first
                for span in spans[:-1]:
                    other = made.new_state()
                    made.connect(state, other, span)
                    state = other
                made.connect(state, part.last, spans[-1])
        return part


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
