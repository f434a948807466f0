from __future__ import annotations

from et_schema.program import Program
from et_schema.pte import read_pte, serialize_pte
from et_schema.reader import Locations

Segments = list[list[bytes]]


def test_every_table_has_a_path_that_leads_to_it(program: tuple[Program, Segments]) -> None:
    file = read_pte(serialize_pte(*program), locate=True)
    assert file.locations is not None
    assert len(file.locations) > 60
    for key, (path, offset) in file.locations.items():
        found = eval(f"program.{path}" if path else "program", {"program": file.program})
        assert id(found) == key
        assert 0 < offset < 4096
    tensor = file.program.execution_plan[0].values[1].val
    assert file.locations[id(tensor)].path == "execution_plan[0].values[1].val"


def test_locations_are_only_made_on_request(program: tuple[Program, Segments]) -> None:
    assert read_pte(serialize_pte(*program)).locations is None


def test_byte_of_finds_the_innermost_table(program: tuple[Program, Segments]) -> None:
    file = read_pte(serialize_pte(*program), locate=True)
    assert file.locations is not None
    tensor = file.locations[id(file.program.execution_plan[0].values[1].val)]
    byte_of = Locations(file.locations).byte_of
    assert byte_of("execution_plan[0].values[1].val.sizes[0]") == tensor.offset
    assert byte_of("execution_plan[0].values[1].val") == tensor.offset
    assert byte_of("nonsense") == file.locations[id(file.program)].offset
