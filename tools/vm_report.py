"""`et-vm report`: pages and graphs of programs."""

from __future__ import annotations

import argparse
import json
from typing import Any

from et_schema.errors import ExecutorchError
from et_tools.exit_codes import UsageError
from et_tools.output import check_output, write_file
from et_tools.vm_files import BadFile, open_programs

__all__ = ["report_files"]


def report_files(args: argparse.Namespace) -> None:
    """Write the report. Raises UsageError, BadFile, and what reading debug maps and profiles raises."""
    from et_tools.report.exchange import dot, model_explorer
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
        if error.where not in (*args.debug_map, *args.profile):
            raise BadFile(args.files[0], error) from error
        # The message begins with the file.
        file, error.where = error.where, None
        raise BadFile(file, error) from error
    formats = {"html": page, "json": _json, "dot": dot, "model-explorer": model_explorer}
    write_file(args.output, formats[args.format](facts))


def _json(facts: dict[str, Any]) -> str:
    return json.dumps(facts, indent=1, allow_nan=False) + "\n"
