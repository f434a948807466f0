"""The backends that come with the VM: each is loaded when a program delegates to it."""

from __future__ import annotations

from typing import Final

__all__ = ["BACKENDS", "ENTRY_POINTS"]

BACKENDS: Final[dict[str, str]] = {
    "NestedProgramBackend": "et_vm.backends.nested:NestedProgramBackend",
    "XnnpackBackend": "et_vm.backends.xnnpack.backend:XnnpackBackend",
}
"""Built-in backends by id, as `module:class`."""

ENTRY_POINTS: Final = "et_vm.backends"
"""The group of entry points by which packages publish backends: the name is the backend's id, the value its class."""
