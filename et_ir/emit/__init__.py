"""From the executorch dialect to `.pte` files and back.

`write(module, stream)` and `disassemble(read_pte(data))` are translations: what one makes of the other's
result is the same again, to the byte for files that this package wrote.
"""

from et_ir.emit.data_files import attach_data_file, data_files, write_data_file
from et_ir.emit.debug_handles import debug_handle_map, delegate_map, origins, origins_json
from et_ir.emit.disassemble import disassemble
from et_ir.emit.emit import EmitError, EmitOptions, Emitted, emit, write

__all__ = [
    "EmitError",
    "EmitOptions",
    "Emitted",
    "attach_data_file",
    "data_files",
    "debug_handle_map",
    "delegate_map",
    "disassemble",
    "emit",
    "origins",
    "origins_json",
    "write",
    "write_data_file",
]
