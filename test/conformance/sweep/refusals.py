"""Reasons why `torch.export` rejects a call, in words for calls that cannot be traced."""

from __future__ import annotations

import re

_REASONS = {
    "DataDependentOutputException": "no call of {what} is traced: its result is a Python value that depends on data",
    "DynamicOutputShapeException": "torch does not know the shapes of the results of {what} before it runs",
    "PendingUnbackedSymbolNotFound": "torch loses track of a number that the operator reads from data for itself",
    "GuardOnDataDependentSymNode": "what torch would trace depends on a number that only the data tells",
}
"""By the class of the exception. None is about how the sweep wraps the call."""


def why_not_exported(problem: Exception) -> str:
    """A line for what `torch.export` raised; in torch's own words where they are all there is to say."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    name = type(problem).__name__
    line = lines[0] if lines else name
    reason = _REASONS.get(name)
    if reason is None:
        return f"{name}: {line}"
    operator = re.search(r"aten\.(\w+)", line)
    return reason.format(what=operator[1] if operator else "an operator")
