"""Parsing of modules in the dialects of the compiler."""

from __future__ import annotations

import pytest

from et_ir.text import parse_module
from et_tools.reading import compiler_context


@pytest.fixture
def parse():
    """Parses the text of a module."""
    return lambda text: parse_module(compiler_context(), text)
