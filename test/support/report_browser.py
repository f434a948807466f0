"""A browser for tests of reports."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from dev.browser import Browser, find_browser

__all__ = ["fact_of", "open_browser", "shown_facts"]


@contextmanager
def open_browser() -> Iterator[Browser]:
    """A browser, in which no page may complain. Without one, a test fails in CI and is skipped elsewhere."""
    command = find_browser()
    if command is None:
        assert "CI" not in os.environ, "no chromium (Debian: chromium)"
        pytest.skip("no chromium (Debian: chromium)")
    with Browser(command) as browser:
        yield browser
        assert browser.complaints == []


def shown_facts(browser: Browser) -> dict[str, str]:
    """The numbers that the page shows, by their paths in the facts."""
    script = (
        "[...document.querySelectorAll('[data-fact]')].map((one) => [one.dataset.fact, one.dataset.value])"
    )
    return dict(browser.run(script))


def fact_of(facts: Any, path: str) -> object:
    """What is at a path, as `programs/0/size`."""
    for part in path.split("/"):
        key = int(part) if part.isdecimal() and isinstance(facts, list) else part
        facts = len(facts) if part == "length" and isinstance(facts, list) else facts[key]
    return facts
