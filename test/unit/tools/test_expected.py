"""`--verify-diagnostics` reads expectations as mlir-opt does."""

from et_schema.diagnostics import Diagnostic, Frame, Location
from et_tools.expected import check_expected

FILE = "x.mlir"


def error(message: str, line: int, file: str = FILE) -> Diagnostic:
    return Diagnostic(message, at=Location((Frame(file, line, column=1),)))


def check(text: str, *found: Diagnostic, first_line: int = 1) -> list[str]:
    return [f"{d.line}: {d.message}" for d in check_expected(text, found, FILE, first_line)]


def test_places() -> None:
    text = "op // expected-error {{a}}\n// expected-error@+1 {{b}}\nop\n// expected-error@-3 {{c}}"
    assert check(text, error("a", 1), error("b", 3), error("c", 1)) == []
    assert check(text, error("a", 11), error("b", 13), error("c", 11), first_line=11) == []


def test_above_and_below_pass_over_other_expectations() -> None:
    text = "// expected-error@below {{a}}\n// expected-error@below {{b}}\nop\n// expected-error@above {{c}}"
    assert check(text, error("a", 3), error("b", 3), error("c", 3)) == []


def test_part_of_the_message_suffices() -> None:
    assert check("op // expected-error {{cannot}}", error("it cannot be", 1)) == []
    assert check("op // expected-error {{a.c}}", error("abc", 1)) == [
        "1: unexpected error: abc",
        "1: expected 'error: a.c' was not produced",
    ]


def test_regular_expressions_in_inner_braces() -> None:
    text = "op // expected-error-re {{got {{[0-9]+}} (bytes)}}"
    assert check(text, error("got 12 (bytes)", 1)) == []
    assert check(text, error("got x (bytes)", 1)) != []


def test_braces_in_the_message() -> None:
    assert check("op // expected-error {{a{b={c}}}}", error("a{b={c}}", 1)) == []


def test_each_expectation_is_met_once() -> None:
    assert check("op // expected-error {{a}}", error("a", 1), error("a", 1)) == ["1: unexpected error: a"]


def test_errors_elsewhere_are_unknown() -> None:
    text = "// expected-error@unknown {{a}}"
    assert check(text, error("a", 0)) == []
    assert check(text, error("a", 7, "model.py")) == []
    assert check(text, error("a", 1)) == ["1: unexpected error: a", "0: expected 'error: a' was not produced"]


def test_only_errors_are_ever_produced() -> None:
    assert check("op // expected-remark {{a}}", error("a", 1)) == [
        "1: unexpected error: a",
        "1: expected 'remark: a' was not produced",
    ]
