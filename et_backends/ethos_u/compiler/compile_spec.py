"""Settings of the Ethos-U backend: processor, system and memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from et_backends.tosa.compiler.backend import SPECIFICATION_SPEC
from et_backends.tosa.compiler.specification import TosaSpecification
from et_ir.delegation.specs import CompileSpec
from et_schema.diagnostics import did_you_mean

__all__ = ["FLAGS_SPEC", "TARGETS", "EthosUCompileSpec"]

FLAGS_SPEC: Final = "compile_flags"
"""The compile spec with the arguments of Vela, separated by spaces."""

TARGETS: Final = (
    *(f"ethos-u55-{macs}" for macs in (32, 64, 128, 256)),
    *(f"ethos-u65-{macs}" for macs in (256, 512)),
    *(f"ethos-u85-{macs}" for macs in (128, 256, 512, 1024, 2048)),
)
"""The processors, each with its multipliers."""

_DEFAULTS: Final = {
    "u55": ("Ethos_U55_High_End_Embedded", "Shared_Sram"),
    "u65": ("Ethos_U65_High_End", "Dedicated_Sram_384KB"),
    "u85": ("Ethos_U85_SYS_DRAM_Mid", "Sram_Only"),
}
"""The names of a system and of a use of memory in Vela's configuration, by family: those of ExecuTorch."""

_EXTENSIONS: Final = {"u55": "+u55", "u65": "+u55", "u85": "+cf"}


class EthosUCompileSpec:
    """Settings of the backend, with the names and the defaults of ExecuTorch's class. Raises `ValueError`."""

    def __init__(
        self,
        target: str,
        system_config: str | None = None,
        memory_mode: str | None = None,
        extra_flags: Sequence[str] | None = None,
        config_ini: str | None = "Arm/vela.ini",
    ):
        self.target = target.lower()
        if self.target not in TARGETS:
            raise ValueError(
                f"unknown target '{target}'; targets are: {', '.join(TARGETS)}{did_you_mean(self.target, TARGETS)}"
            )
        self.family = self.target.split("-")[1]
        """`u55`, `u65` or `u85`."""
        system, memory = _DEFAULTS[self.family]
        self.tosa_spec = TosaSpecification.of(f"TOSA-1.0+INT+int16+int4{_EXTENSIONS[self.family]}")
        """The specification of the intermediate TOSA."""
        self.flags = (
            *(extra_flags or ()),
            f"--accelerator-config={self.target}",
            f"--config={config_ini or 'Arm/vela.ini'}",
            "--output-format=raw",
            f"--system-config={system_config or system}",
            f"--memory-mode={memory_mode or memory}",
        )
        """The arguments of Vela."""
        for flag in self.flags:
            if " " in flag:
                raise ValueError(f"'{flag}' has a space, which separates arguments in the file")

    def compile_specs(self) -> tuple[CompileSpec, ...]:
        """The settings as the file has them, with the keys of ExecuTorch's backend."""
        return (
            CompileSpec(SPECIFICATION_SPEC, str(self.tosa_spec).encode()),
            CompileSpec(FLAGS_SPEC, " ".join(self.flags).encode()),
            CompileSpec("output_format", b"vela"),
            CompileSpec("target", self.target.encode()),
        )
