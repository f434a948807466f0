"""`et-vm diff`: in what two programs differ.

The numbers of values and the place of things in the file are not looked at.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from et_tools.diff.compare import differences
from et_tools.exit_codes import ExitCode, UsageError
from et_tools.vm_errors import is_model
from et_tools.vm_files import BadFile, open_programs

if TYPE_CHECKING:
    from et_tools.diff.difference import Difference

SHOWN = 40


def diff_files(args: argparse.Namespace) -> int:
    """Print the differences; returns 0 when there are none, 1 when there are. Raises BadFile, UsageError."""
    try:
        programs = open_programs(args.files)
    except BadFile as bad:
        others = [file for file in args.files if file != bad.file]
        if not is_model(bad.error, bad.file) or not others:
            raise
        raise UsageError(
            f"{bad.file}: a model, not a compiled program; "
            f"of their results: et-vm compare {others[0]} {bad.file}; or compile it first, to another file"
        ) from bad
    found = [] if programs[0].file == programs[1].file else differences(*programs)
    if args.json:
        report = {"files": args.files, "same": not found, "differences": [one._asdict() for one in found]}
        print(json.dumps(report, indent=2))
    else:
        for line in _lines(found, None if args.all else SHOWN):
            print(line)
    return ExitCode.CHECK_FAILED if found else ExitCode.OK


def _lines(found: list[Difference], shown: int | None) -> Iterator[str]:
    """The differences by where they are, `-` in the first file, `+` in the second; `shown` of each kind."""
    for where, group in groupby(found, key=lambda one: one.where):
        together = list(group)
        yield where
        for one in together[:shown]:
            if one.before is not None:
                yield f"- {one.before}"
            if one.after is not None:
                yield f"+ {one.after}"
        if shown is not None and len(together) > shown:
            yield f"  … {len(together) - shown:,} more (--all)"
