"""Import path of the test-only modules of this folder."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import pytest

from et_ir.text import parse_module
from et_tools.reading import compiler_context


@pytest.fixture
def parse():
    """Parses the text of a module."""
    return lambda text: parse_module(compiler_context(), text)
