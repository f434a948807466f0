from __future__ import annotations

import pytest

from et_ir.backends import (
    BackendDetails,
    CapabilityPartitioner,
    DelegationSpec,
    PreprocessResult,
    SupportTable,
)


class Demo(BackendDetails):
    """Remembers what it is asked to compile."""

    asked: list = []  # noqa: RUF012

    @classmethod
    def preprocess(cls, edge_program, compile_specs):
        cls.asked.append((edge_program, list(compile_specs)))
        return PreprocessResult(b"blob %d" % len(cls.asked))


@pytest.fixture
def demo():
    Demo.asked = []
    return Demo


@pytest.fixture
def taking():
    """A partitioner for the backend `Demo` that takes certain operators of any type."""
    return lambda *names: CapabilityPartitioner(DelegationSpec("Demo"), SupportTable(dict.fromkeys(names)))
