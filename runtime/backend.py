"""Build backend of the distribution `et-vm`: setuptools, in a copy of the sources that the runtime needs."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import chdir, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from setuptools import build_meta

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from dev.runtime_distribution import write_sources  # noqa: E402  (found by the line above)

__all__ = ["build_sdist", "build_wheel"]


@contextmanager
def _in_sources() -> Generator[None, None, None]:
    """The copy as the working directory, where setuptools builds; the checkout stays as it is."""
    with TemporaryDirectory(prefix="et-vm-") as folder:
        write_sources(ROOT, Path(folder))
        with chdir(folder):
            yield


def build_wheel(
    wheel_directory: str, config_settings: object = None, metadata_directory: object = None
) -> str:
    """Build a wheel; returns its name."""
    place = os.path.abspath(wheel_directory)
    with _in_sources():
        return build_meta.build_wheel(place)


def build_sdist(sdist_directory: str, config_settings: object = None) -> str:
    """Build a source distribution, which needs setuptools alone to make the wheel; returns its name."""
    place = os.path.abspath(sdist_directory)
    with _in_sources():
        return build_meta.build_sdist(place)
