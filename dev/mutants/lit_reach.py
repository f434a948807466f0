"""Faults in lit tests: their environment follows that of lit, and names the test."""

from __future__ import annotations

import os
from typing import Any, cast

import lit.formats  # pyright: ignore[reportMissingImports, reportMissingTypeStubs]

from dev.mutants import switch

__all__ = ["Format", "configure"]


class Format(lit.formats.ShTest):  # type: ignore[misc]
    """Shell tests whose commands know the name of their test."""

    def execute(self, test: Any, litConfig: Any) -> Any:
        """Run a test; its name is its path, relative to the folder of the tests."""
        test.config.environment = {**test.config.environment, switch.TEST: "/".join(test.path_in_suite)}
        return cast(Any, super()).execute(test, litConfig)


def configure(config: Any) -> None:
    """Change the configuration of the tests of a folder."""
    config.test_format = Format(execute_external=config.test_format.execute_external)
    for name in (switch.ACTIVE, switch.RECORD, "PYTHONPATH", "TMPDIR", "XDG_CACHE_HOME"):
        if name in os.environ:
            config.environment[name] = os.environ[name]
