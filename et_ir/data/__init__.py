"""The bytes of constants: kept outside of the IR's text, compared by content, never copied without need."""

from et_ir.data.blob import Blob, MissingData
from et_ir.data.blob_index import BlobIndex

__all__ = ["Blob", "BlobIndex", "MissingData"]
