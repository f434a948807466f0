"""Levels of a compiled program, from texts that the compiler saved."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from et_schema.errors import InvalidFile
from et_tools.exit_codes import UsageError
from et_tools.report.level_facts import (
    LEVELS,
    LevelFacts,
    Place,
    check_instructions,
    level_facts,
    with_places,
)
from et_vm.devtools.debug_map import read_debug_map

if TYPE_CHECKING:
    from et_vm.program import Program

__all__ = ["saved_levels"]


def saved_levels(folder: str, program: Program, debug_map: str | None) -> list[LevelFacts]:
    """The levels that a folder has a text of, `aten.mlir` and so on. The last, `executorch`, is taken from the program
    where the folder lacks it; then the debug map says where its instructions come from.

    Raises UsageError for a folder without texts, InvalidFile for the texts of another program, and what reading texts
    raises.
    """
    from et_tools.reading import read_text_module

    keys: dict[tuple[str, ...], int] = {}
    found: list[LevelFacts] = []
    counts = {name: program.method_meta(name).num_instructions() for name in program.method_names}
    for name in LEVELS:
        path = Path(folder) / f"{name}.mlir"
        if path.is_file():
            found.append(level_facts(name, read_text_module(str(path), None), keys))
            if name == "executorch":
                check_instructions(found[-1], counts, folder)
    if not found:
        names = ", ".join(f"{name}.mlir" for name in LEVELS)
        raise UsageError(f"--levels {folder}: has none of {names}; et-compile --save-levels writes them")
    if found[-1]["name"] != "executorch":
        from et_ir.emit import disassemble

        level = level_facts("executorch", disassemble(program.pte), keys)
        places = {} if debug_map is None else _places(debug_map)
        found.append(with_places(level, places, keys))
    return found


def _places(file: str) -> dict[str, list[tuple[int, list[str], Place | None]]]:
    """Nodes and place of each instruction, of a delegate's call the nodes of all that it took."""
    found = read_debug_map(file)
    try:
        return {method: [_row(row) for row in rows] for method, rows in found.items()}
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise InvalidFile("the debug map has rows of another form", where=file) from error


def _row(row: Any) -> tuple[int, list[str], Place | None]:
    inside = [place for places in row.get("delegate", {}).get("identifiers", {}).values() for place in places]
    nodes = dict.fromkeys(str(one["node"]) for one in (row, *inside) if one.get("node"))
    frames = row.get("source") or ()
    place = (str(row["module"]), str(frames[-1]["file"]), str(frames[-1]["line"])) if frames else None
    return int(row["instruction"]), list(nodes), place
