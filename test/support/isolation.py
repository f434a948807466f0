"""Isolation of a run of the tests from its user and machine: environment, home, umask and network."""

from __future__ import annotations

import os
import socket
from collections.abc import MutableMapping
from ipaddress import ip_address
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pytest

__all__ = ["isolate", "refuse_network"]

SET: Final = {
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    "TERM": "xterm",
    "COLUMNS": "80",
    "LINES": "24",
    "HF_HUB_OFFLINE": "1",
    # Git reads checkouts of other users, too.
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "safe.directory",
    "GIT_CONFIG_VALUE_0": "*",
}
REMOVED: Final = (
    *("NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "PYTHONWARNINGS", "PYTHONIOENCODING"),
    *("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "HF_HOME", "TORCH_HOME"),
    *("ET_VM_THREADS", "ET_IR_CACHE", "PYTEST_ADDOPTS"),
)
"""The settings of users that commands heed. Those of a machine stay: devices, libraries, the number of threads."""


def isolate(environment: MutableMapping[str, str], home: Path, caches: Path) -> None:
    """Make the same environment of every user's: an empty `home`, no settings, and folders below `caches` for the
    compilers of other languages, whose own code is compiled once for all runs.

    The number of threads of torch and numpy, neither of which must have been imported, is 1 unless it is set.
    """
    for name in REMOVED:
        environment.pop(name, None)
    environment |= SET | {
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "ZIG_GLOBAL_CACHE_DIR": str(caches / "zig"),
        "TORCHINDUCTOR_CACHE_DIR": str(home / ".cache/torchinductor"),  # else its name is that of the user
    }
    environment.setdefault("OMP_NUM_THREADS", "1")
    os.umask(0o022)


def refuse_network() -> None:
    """Have connections to other machines raise `PermissionError` in this process, as long as it lives."""
    connect = socket.socket.connect

    def connect_here(self: socket.socket, address: Any, /) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and not _is_loopback(address[0]):
            raise PermissionError(f"tests have no network: connection to {address[0]}")
        connect(self, address)

    socket.socket.connect = connect_here


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@pytest.hookimpl(trylast=True)  # after pytest has seen what its own output is to look like
def pytest_configure(config: pytest.Config) -> None:
    """Isolate the tests; workers of pytest-xdist get the environment of the process that starts them."""
    refuse_network()
    if hasattr(config, "workerinput"):
        return
    folder = TemporaryDirectory(prefix="home-")
    config.add_cleanup(folder.cleanup)
    home = Path(folder.name)
    isolate(os.environ, home, _caches(config) or home)


def _caches(config: pytest.Config) -> Path | None:
    """The folder of pytest's cache, if there is one that can be written to."""
    if not config.pluginmanager.has_plugin("cacheprovider"):
        return None
    try:
        return config.cache.mkdir("compilers")
    except OSError:
        return None
