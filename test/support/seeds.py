"""Plug-in that seeds the random numbers of torch, numpy and Python before each test, and before each file is loaded.

A test draws the same numbers alone as after others, whichever worker runs it.
"""

from __future__ import annotations

import random
import sys

import pytest

SEED = 67280421310721
"""What torch starts with: a test that is the first to import it draws the same."""


def seed() -> None:
    """Seed the generators of this process, those of packages that were imported."""
    random.seed(SEED)
    if (numpy := sys.modules.get("numpy")) is not None:
        numpy.random.seed(SEED % 2**32)
    if (torch := sys.modules.get("torch")) is not None:
        torch.default_generator.manual_seed(SEED)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    seed()


@pytest.hookimpl(tryfirst=True)
def pytest_make_collect_report() -> None:
    seed()
