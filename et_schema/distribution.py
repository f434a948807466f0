"""The distribution that has installed these packages: the whole project, or its runtime alone."""

from __future__ import annotations

from typing import Final

__all__ = ["NAME", "PROJECT", "RUNTIME", "RUNTIME_EXTRAS", "installation"]

PROJECT: Final = "executorch-ir"
"""The distribution of everything: compiler and runtime."""
RUNTIME: Final = "et-vm"
"""The distribution of the runtime alone, which is built in the folder `runtime`."""
RUNTIME_EXTRAS: Final = ("completion", "llm", "openvino", "scipy", "vgf")
"""Extras of the project that the runtime alone has, too."""
NAME: str = PROJECT
"""The distribution of these files; the build of the runtime writes `RUNTIME` here."""


def installation(extra: str) -> str:
    """The command that installs an extra of the project, and where."""
    folder = "./runtime" if NAME == RUNTIME and extra in RUNTIME_EXTRAS else "."
    return f"pip install '{folder}[{extra}]' in the checkout of {PROJECT}"
