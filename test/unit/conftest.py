"""Parsing of modules in the dialects of the compiler."""

from __future__ import annotations

import pytest


@pytest.fixture
def parse():
    """Parses the text of a module."""
    # Tests of the runtime do not load the compiler.
    from et_ir.text import parse_module
    from et_tools.reading import compiler_context

    return lambda text: parse_module(compiler_context(), text)
