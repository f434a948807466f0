"""Ahead-of-time interface of a backend.

It serializes a partition into bytes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, cast

from xdsl.dialects.builtin import LocationAttr, ModuleOp

from et_ir.data import Blob
from et_ir.delegation.named_data import NamedDataStoreOutput
from et_ir.delegation.specs import CompileSpec

__all__ = ["BackendDetails", "PreprocessResult"]


@dataclass(frozen=True)
class PreprocessResult:
    """Preprocessed result of one partition.

    Raises `TypeError` and `ValueError` for what it cannot be.
    """

    processed_bytes: bytes | Blob
    """Blob passed to the runtime part."""
    debug_handle_map: Mapping[int | str, Sequence[LocationAttr]] = field(
        default_factory=dict[int | str, Sequence[LocationAttr]]
    )
    """Ops of the program by the backend's own identifiers, as locations: the result of
    `DelegateMappingBuilder.get_delegate_mapping()` gives.
    """
    debug_orders: Mapping[int | str, Sequence[int]] = field(
        default_factory=dict[int | str, Sequence[int]], kw_only=True
    )
    """Identifiers whose values, where the runtime part reports them, are not as in the program: the dimensions of the
    last op's result in the order of the value, outermost first, or none for a value that no op has.
    """
    data_store_output: NamedDataStoreOutput | None = None
    """Data that the runtime part finds by name, from `NamedDataStore`."""
    alignment: int = 1
    """Of the bytes in the file, where more than that of every segment is needed; a power of two."""
    compile_specs: Sequence[CompileSpec] = ()
    """Settings to be added to those of the partition: what compiling has found out, for those who read the file."""
    updates: Mapping[int, int] = field(default_factory=dict[int, int])
    """Outputs that are inputs with other elements in some places, by number, and the number of each one's input.

    The runtime part takes the same memory for both, and writes the elements that are other then.
    """

    def __post_init__(self) -> None:
        processed = cast(object, self.processed_bytes)
        if not isinstance(processed, bytes | bytearray | memoryview | Blob):
            raise TypeError(f"processed_bytes must be bytes, not {type(processed).__name__}")
        mapping = cast(object, self.debug_handle_map)
        if not isinstance(mapping, Mapping):
            raise TypeError(f"debug_handle_map must be a mapping, not {type(mapping).__name__}")
        for key, locations in self.debug_handle_map.items():
            for location in locations:
                if not isinstance(cast(object, location), LocationAttr):
                    message = f"debug_handle_map: {key!r} must map to locations of ops, not to {location!r}"
                    raise TypeError(f"{message}; build the map with DelegateMappingBuilder")
        for key, order in self.debug_orders.items():
            if key not in self.debug_handle_map or sorted(order) != list(range(len(order))):
                raise ValueError(
                    f"debug_orders: {key!r} has {order!r}, not an order of dimensions of a known one"
                )
        store = cast(object, self.data_store_output)
        if store is not None and not isinstance(store, NamedDataStoreOutput):
            raise TypeError(
                f"data_store_output must be NamedDataStore.get_named_data_store_output(), not {type(store).__name__}"
            )
        if self.alignment < 1 or self.alignment & (self.alignment - 1):
            raise ValueError(f"an alignment of {self.alignment} bytes is not a power of two")


class BackendDetails(ABC):
    """A backend's compiler.

    The program that it gets is a module of the edge level with one method, `forward`: constants, buffers that the
    partition owns, and the ops that the partitioner chose. In front of them, for each dynamic size of an input whose
    type has no expression for it, stand an `edge.sym_size.int` and the `program.range` that is known of it. It may
    change the module as it likes.
    """

    backend_id: str = ""
    """The name in files, by which the runtime finds the backend; that of the class unless it is set."""
    distributions: ClassVar[Sequence[str]] = ()
    """Names of the distributions that it compiles with, beside those of every compilation: results that are kept
    (`et_ir.cache`) are of their versions.
    """
    holds_lines: ClassVar[bool] = True
    """Whether its results may hold lines of the model's source, but for the debug handle map. Where they do not,
    results that are kept hold when lines move.
    """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "backend_id" not in cls.__dict__:
            cls.backend_id = cls.__name__

    @classmethod
    @abstractmethod
    def preprocess(cls, edge_program: ModuleOp, compile_specs: Sequence[CompileSpec]) -> PreprocessResult:
        """Compile a partition. What this raises is reported with the partition's source line."""

    @classmethod
    def further_dependences(cls, compile_specs: Sequence[CompileSpec]) -> str | None:
        """What results with these settings depend on besides the program, the settings, and the sources and versions
        of the compiler: the machine, for example. None if they are not to be kept (`et_ir.cache`).
        """
        return ""

    @classmethod
    def preprocess_multimethod(
        cls,
        edge_programs: Mapping[str, Sequence[ModuleOp]],
        compile_specs: Mapping[str, Sequence[Sequence[CompileSpec]]],
    ) -> Mapping[str, Sequence[PreprocessResult]]:
        """Compile all partitions of a program at once: by method, in program order. Override it to share work
        or data between them.
        """
        return {
            method: [
                cls.preprocess(program, specs)
                for program, specs in zip(programs, compile_specs[method], strict=True)
            ]
            for method, programs in edge_programs.items()
        }

    @classmethod
    def share_data(
        cls, results: Mapping[str, Sequence[PreprocessResult]]
    ) -> Mapping[str, Sequence[PreprocessResult]]:
        """The results of all partitions of a program, by method, with data that several of them hold stored once:
        as named data. It is called once all partitions are compiled, if there are several. Override it where
        `preprocess` leaves weights in the bytes of each result.
        """
        return results
