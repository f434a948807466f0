"""Generation of ETRecords from modules, with the API of ExecuTorch's `devtools.etrecord`."""

from et_ir.etrecord.programs import NotRecordable
from et_ir.etrecord.record import ETRecord, generate_etrecord, parse_etrecord
from et_ir.etrecord.snapshot import Snapshot

__all__ = ["ETRecord", "NotRecordable", "Snapshot", "generate_etrecord", "parse_etrecord"]


def __getattr__(name: str) -> object:
    from et_schema.executorch_names import missing_name

    raise missing_name(__name__, name, __all__)
