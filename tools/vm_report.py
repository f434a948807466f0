"""`et-vm report`: pages and graphs of programs."""

from __future__ import annotations

import argparse
import json

from et_schema.errors import ExecutorchError
from et_tools.exit_codes import UsageError
from et_tools.output import check_output, write_file
from et_tools.vm_files import BadFile, open_programs

__all__ = ["report_files"]


def report_files(args: argparse.Namespace) -> None:
    """Write the report. Raises UsageError, BadFile, and what reading debug maps and profiles raises."""
    from et_tools.report.model import report_facts
    from et_tools.report.page import page

    check_output(args.output)
    for option in ("debug_map", "profile"):
        given = getattr(args, option)
        if len(given) > len(args.files):
            name = option.replace("_", "-")
            raise UsageError(f"--{name} is given {len(given)} times for {len(args.files)} files")
    programs = open_programs(args.files)
    try:
        facts = report_facts(list(zip(args.files, programs, strict=True)), args.debug_map, args.profile)
    except ExecutorchError as error:
        raise BadFile(error.where or args.files[0], error) from error
    text = page(facts) if args.format == "html" else json.dumps(facts, indent=1, allow_nan=False) + "\n"
    write_file(args.output, text)
