"""The schema snapshot is that of the installed torch, and the generated classes are those of the snapshot."""

from et_ir.dialects.aten import OP_BY_NAME
from et_ir.registry.generate import generate, read_entries
from et_ir.registry.snapshot import SNAPSHOT, collect


def test_snapshot_is_current():
    assert SNAPSHOT.read_text(encoding="utf-8").splitlines() == collect(), (
        "run python -m et_ir.registry.snapshot"
    )


def test_generated_classes_are_current():
    for path, text in generate().items():
        assert path.read_text(encoding="utf-8") == text, "run python -m et_ir.registry.generate"


def test_snapshot_is_sorted_and_unique():
    lines = SNAPSHOT.read_text(encoding="utf-8").splitlines()
    assert lines == sorted(set(lines))


def test_every_schema_has_a_class():
    names = {e.schema.qualified_name for e in read_entries() if e.namespace == "aten"}
    assert names == set(OP_BY_NAME)
