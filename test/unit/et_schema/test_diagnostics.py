"""Diagnostics as text, with quoted source, and as JSON."""

import re

import pytest

from et_schema.diagnostics import Diagnostic, Frame, Location, Report, did_you_mean, near_names, render
from et_schema.errors import Error, ExecutorchError, InvalidFile, Problems, Trap

PLACE = Location(
    (Frame("outer.py", 3, "main"), Frame("model.py", 12, "forward", "y = x + 1", column=5)), "blocks.0"
)
OP = Diagnostic("[edge_c2] is wrong", "of type i3", subject="edge.add", fix="repair it", at=PLACE)


def test_one_of_an_op() -> None:
    assert OP.text == "'edge.add': [edge_c2] is wrong: of type i3"
    assert str(OP) == f"model.py:12 in blocks.0: {OP.text}\n    fix: repair it"
    assert (OP.file, OP.line) == ("model.py", 12)


def test_phrases_are_not_quoted() -> None:
    assert str(Diagnostic("has no data", subject='buffer "a"')) == 'buffer "a": has no data'
    assert (
        str(Diagnostic("is foreign", subject="a.b", at=Location())) == "unknown location: 'a.b': is foreign"
    )


def test_rendering_quotes_the_line_and_lists_notes() -> None:
    told = Diagnostic("no such op", at=PLACE, fix="leave it", notes=(Diagnostic("rank", "5"), OP))
    assert render([told, Diagnostic("unread").in_file("a.pte")], {"model.py": "\n" * 11 + "y = foo x"}) == (
        "model.py:12:5: error: no such op\n"
        "  y = foo x\n"
        "      ^\n"
        "  note: rank: 5\n"
        "  note: 'edge.add': [edge_c2] is wrong: of type i3\n"
        "  fix: leave it\n"
        "a.pte: error: unread"
    )


def test_colors_change_nothing_but_colors() -> None:
    told = Diagnostic("no such op", at=PLACE, fix="leave it", severity="warning", notes=(Diagnostic("a: b"),))
    sources = {"model.py": "\n" * 11 + "y = foo x"}
    painted = render([told], sources, color=True)
    assert painted == (
        "\x1b[1mmodel.py:12:5:\x1b[m \x1b[1;35mwarning:\x1b[m no such op\n"
        "  y = foo x\n"
        "  \x1b[1;32m    ^\x1b[m\n"
        "  \x1b[1;36mnote:\x1b[m a: b\n"
        "  \x1b[1;32mfix:\x1b[m leave it"
    )
    assert re.sub(r"\x1b\[[\d;]*m", "", painted) == render([told], sources)


def test_long_lines_are_quoted_around_the_column() -> None:
    told = Diagnostic("here", at=Location((Frame("a.mlir", 1, column=500),)))
    _, quoted, caret = render([told], {"a.mlir": "x" * 499 + "?" + "y" * 500}).split("\n")
    assert len(quoted) == 202
    assert quoted[caret.index("^")] == "?"


def test_json_leaves_out_what_is_empty() -> None:
    assert Diagnostic("m").json() == {"message": "m", "where": None, "offset": None, "hint": None}
    facts = OP.json()
    assert (facts["subject"], facts["module"], facts["hint"]) == ("edge.add", "blocks.0", "repair it")
    assert facts["source"][1] == {"file": "model.py", "line": 12, "function": "forward", "code": "y = x + 1"}


def test_a_report_lists_all() -> None:
    Report.raise_if("broken", [])
    with pytest.raises(Report) as caught:
        Report.raise_if("broken", (each for each in (OP, OP)))
    assert caught.value.diagnostics == (OP, OP)
    assert str(caught.value).startswith("broken (2 places)\n  model.py:12 in blocks.0: 'edge.add': ")


def test_runtime_errors_carry_one() -> None:
    error = InvalidFile("is negative", where="values[3]", offset=0x1C0, hint="write it again")
    assert str(error) == "InvalidProgram (0x23): is negative at values[3], byte 0x1c0; write it again"
    assert str(error.diagnostic) == (
        "InvalidProgram (0x23): is negative at values[3], byte 0x1c0\n    fix: write it again"
    )
    assert error.diagnostic.json() == {
        "name": "InvalidProgram",
        "code": Error.InvalidProgram,
        "message": "is negative",
        "where": "values[3]",
        "offset": 0x1C0,
        "hint": "write it again",
    }
    trap = Trap("overflow", frames=[Frame("model.py", 12, "forward")])
    assert trap.diagnostic.file == "model.py"


def test_problems_are_raised_or_kept() -> None:
    first, second = InvalidFile("first"), ExecutorchError(Error.Internal, "second")
    problems = Problems()
    problems.add(first)
    problems.add(second)
    assert problems.found == [first, second]
    with pytest.raises(InvalidFile, match="first"):
        Problems(collects=False).add(first)


@pytest.mark.parametrize(
    ("name", "known", "found"),
    [
        (
            "aten.add",
            ["aten.addr", "aten.add.Scalar", "aten.add.Tensor"],
            ["aten.add.Scalar", "aten.add.Tensor"],
        ),
        ("fold-constants", ["fold-state", "constant-fold"], ["constant-fold"]),
        ("XNNPACK", ["native", "xnnpack"], ["xnnpack"]),
        ("forwrad", ["forward", "backward"], ["forward"]),
        ("vulkan", ["native", "xnnpack"], []),
    ],
)
def test_similar_names(name: str, known: list[str], found: list[str]) -> None:
    assert near_names(name, known, count=2)[: len(found) or 1] == found


def test_suggestions_of_similar_names() -> None:
    assert did_you_mean("forwrad", ["forward"]) == ", did you mean 'forward'?"
    assert did_you_mean("vulkan", ["native"]) == ""
