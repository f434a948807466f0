"""Messages name options of commands only where a command runs."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from et_schema.wording import command_wording, data_file, worded

SOURCES = Path(__file__).parents[3]
PACKAGES = ("et_ops", "et_schema", "et_ir", "et_vm", "et_backends")
OPTION = re.compile(r"(?:^|[\s(`])--[a-z]")
COMMAND = re.compile(r"et-(?:compile|opt|vm|translate|plan)\b")


def test_wording() -> None:
    assert worded(python="a", command="b") == "a"
    with command_wording(), command_wording():
        assert data_file() == "et-vm run --data FILE.ptd"
    assert data_file() == "load_program(…, data_path=…)"


class Options(ast.NodeVisitor):
    """Texts with an option of a command that do not name the command, outside of the wording for commands."""

    def __init__(self) -> None:
        self.found: list[tuple[int, str]] = []

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg != "command":
            self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # else a docstring
            self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        text = "".join(
            part.value if isinstance(part, ast.Constant) and isinstance(part.value, str) else "{}"
            for part in node.values
        )
        self._text(text, node.lineno)
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                self.visit(part.value)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            self._text(node.value, node.lineno)

    def _text(self, text: str, line: int) -> None:
        if OPTION.search(text) and not COMMAND.search(text):
            self.found.append((line, text))


OTHERS = {
    "et_backends/ethos_u/compiler/compile_spec.py": "of Vela",
    "et_backends/ethos_u/compiler/vela.py": "of Vela",
}
"""Files that have options of other programs."""


@pytest.mark.parametrize("package", PACKAGES)
def test_options_are_of_commands(package: str) -> None:
    found: list[str] = []
    for path in sorted((SOURCES / package).rglob("*.py")):
        name = path.relative_to(SOURCES).as_posix()
        if name in OTHERS:
            continue
        options = Options()
        options.visit(ast.parse(path.read_text()))
        found += [f"{name}:{line}: {text}" for line, text in options.found]
    assert found == []
