"""Options of the cache of compiled partitions."""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from typing import TYPE_CHECKING, Final, TextIO

from et_schema.files import cache_file
from et_tools.exit_codes import UsageError

if TYPE_CHECKING:
    from et_ir.cache.store import Store

__all__ = ["VARIABLE", "chosen_store", "lookups_json", "print_lookups", "print_statistics"]

VARIABLE: Final = "ET_IR_CACHE"
"""The environment variable that names the folder of the cache where `--cache` does not."""
_NAME: Final = "compilations"
"""The folder of the cache, among what this project keeps between runs, where none is named."""


def chosen_store(args: argparse.Namespace) -> Store | None:
    """The store of `--cache`, or of the environment; None for neither, and where compiling is to show its steps.

    Raises `UsageError` for a folder that cannot be one.
    """
    folder = os.environ.get(VARIABLE) if args.cache is None else args.cache
    if args.no_cache or folder is None or (args.cache is None and not folder):
        if args.cache_stats:
            raise UsageError(f"--cache-stats needs a cache: give --cache, or set {VARIABLE}")
        return None
    from et_ir.cache.store import Store

    try:
        store = Store(folder or cache_file(_NAME))
        if args.cache_stats:
            store.statistics()  # what cannot be read is said before the compilation
    except OSError as error:
        source = "--cache" if args.cache is not None else VARIABLE
        raise UsageError(f"{source}: {error}") from None
    return store


def lookups_json(store: Store | None) -> list[dict[str, str]] | None:
    """What was looked for, as JSON has it; None without a cache."""
    return None if store is None else [one._asdict() for one in store.lookups]


def print_lookups(store: Store, stream: TextIO | None = None) -> None:
    """Print a line for each result that was looked for: whether it was found, or why not; equal ones share one."""
    stream = sys.stderr if stream is None else stream
    for one, count in Counter(store.lookups).items():
        times = f" ×{count}" if count > 1 else ""
        print(f"cache: {one.kind}: {one.subject}: {one.outcome}{times}", file=stream)


def print_statistics(store: Store, stream: TextIO | None = None) -> None:
    """Print what the store holds by kind, and how often results were found. Raises `OSError`."""
    stream = sys.stderr if stream is None else stream
    found = store.statistics()
    print(f"cache {store.folder}, at most {store.limit:,} bytes", file=stream)
    for kind in sorted({*found.entries, *found.hits, *found.misses}):
        print(
            f"  {kind}: {found.entries.get(kind, 0):,} entries, {found.sizes.get(kind, 0):,} bytes, "
            f"{found.hits.get(kind, 0):,} hits, {found.misses.get(kind, 0):,} misses",
            file=stream,
        )
