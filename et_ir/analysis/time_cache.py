"""Cache of times measured on this machine."""

from __future__ import annotations

import json
import logging
import math
import platform
from collections.abc import Callable, Mapping
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final, cast

from et_schema.files import atomic_writer, cache_file

__all__ = ["TimeCache", "Times", "processor_digest", "source_digest"]

_LOG: Final = logging.getLogger(__name__)

Times = dict[str, float]
"""Seconds by form."""


class TimeCache:
    """A file of times by key, in `$XDG_CACHE_HOME`, or `~/.cache`.

    Entries are made by `is_entry`, which says whether the names of forms are what they have to be.
    """

    def __init__(self, name: str, purpose: str, is_entry: Callable[[Mapping[str, float]], bool]) -> None:
        """`purpose` names the cache in warnings about an unusable file."""
        self._name = name
        self._purpose = purpose
        self._is_entry = is_entry

    @property
    def path(self) -> Path:
        """The file. Raises `FileNotFoundError` where there is no folder for it."""
        return cache_file(self._name)

    def read(self) -> dict[str, Times]:
        """The times that are kept; none where the file is damaged."""
        try:
            kept = json.loads(self.path.read_bytes())
            if not self._is_cache(kept):
                raise ValueError("it does not map kernels to times")
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:
            _LOG.warning("%s %s is ignored: %s", self._purpose, self.path, error)
            return {}
        return cast("dict[str, Times]", kept)

    def _is_cache(self, kept: object) -> bool:
        if not isinstance(kept, dict):
            return False
        for times in cast("dict[str, object]", kept).values():
            if not isinstance(times, dict):
                return False
            for seconds in cast("dict[str, object]", times).values():
                if not isinstance(seconds, float) or not 0 < seconds < math.inf:
                    return False
            if not self._is_entry(cast("dict[str, float]", times)):
                return False
        return True

    def write(self, times: Mapping[str, Times]) -> None:
        """Replace the file at once: readers see the old one or the new one."""
        text = json.dumps(times, indent=1, sort_keys=True)
        try:
            path = self.path
        except FileNotFoundError as error:
            _LOG.warning("%s is not written: %s", self._purpose, error)
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_writer(path) as stream:
                stream.write(text.encode())
        except OSError as error:
            _LOG.warning("%s %s is not written: %s", self._purpose, path, error)


def source_digest(*packages: str, version: str = "") -> str:
    """A hash of the modules of packages, those within them included, and of the version of what they depend on."""
    digest = sha256(version.encode())

    def add(folder: Traversable) -> None:
        for one in sorted(folder.iterdir(), key=lambda one: one.name):
            if one.is_dir():
                add(one)
            elif one.name.endswith((".py", ".ll")):
                digest.update(one.read_bytes())

    for package in packages:
        add(files(package))
    return digest.hexdigest()


def processor_digest() -> str:
    """A hash of the model and features of the first processor, as reported by Linux."""
    names = ("model name", "flags", "CPU implementer", "CPU part", "Features")
    try:
        text = Path("/proc/cpuinfo").read_text("utf-8", errors="replace")
    except OSError:
        text = ""
    lines = [line for line in text.split("\n\n")[0].splitlines() if line.partition("\t")[0] in names]
    return sha256("\n".join([platform.machine(), *lines]).encode()).hexdigest()
