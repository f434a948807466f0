"""The schema compiler: its output is current; what it does not understand it rejects with file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from et_schema import generate


@pytest.mark.parametrize("name", generate.MODULES)
def test_generated_modules_are_current(name: str) -> None:
    path = generate.HERE / f"{generate.MODULE_NAMES.get(name, name)}.py"
    assert path.read_text() == generate.generate(name), "run `python -m et_schema.generate`"


def test_check_reports_a_stale_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for source in generate.HERE.glob("*.fbs"):
        (tmp_path / source.name).write_text(source.read_text())
    monkeypatch.setattr(generate, "HERE", tmp_path)
    assert generate.main(["--check"]) == 1
    assert "program.py is out of date" in capsys.readouterr().err
    assert generate.main([]) == 0
    assert generate.main(["--check"]) == 0
    assert generate.main(["--what"]) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("table A {\n  a: int;\n", r"x\.fbs:2: expected a name, found the end"),
        ("table A { a int; }", r"x\.fbs:1: expected :, found int"),
        ("struct A { a: int; }", r"x\.fbs:1: unknown declaration 'struct'"),
        ("\n\ntable A { a: ?; }", r"x\.fbs:3: unexpected '\?'"),
        ("table A { a: A; } root_type A;", "table A contains itself"),
        ("table A { a: B; } table B { a: [A]; } root_type A;", "table A contains itself"),
        ("table A { a: half; } root_type A;", r"A\.a: unknown type half"),
        ("table A { a: [string]; } root_type A;", r"A\.a: unsupported vector of string"),
    ],
)
def test_errors(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "x.fbs"
    path.write_text(text)
    with pytest.raises(generate.SchemaError, match=message):
        generate.Emitter(generate.parse(path), path.name, "").module()


def test_comments_become_docstrings(tmp_path: Path) -> None:
    path = tmp_path / "x.fbs"
    path.write_text(
        '// Not of A.\n\n// Of A,\n// all of it.\ntable A { a: int; }\nroot_type A; file_identifier "AAAA";'
    )
    schema = generate.parse(path)
    assert schema.tables["A"].doc == "Of A,\nall of it."
    assert schema.root == "A"
    assert schema.identifier == "AAAA"
