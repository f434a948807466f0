"""Apply rules of a PDL module by equality saturation.

%1 = equivalence.class %0                 ->    %2 = equivalence.class %1, %0
with a rule that gives %1 for %0

The passes of xDSL around it make the classes of a method (`eqsat-create-eclasses`), price ops (`eqsat-add-costs`) and
choose the cheapest of each class (`eqsat-extract`). xDSL's pass of this name asks the tool `mlir-opt` to compile the
rules; here, xDSL's own conversions do.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.pdl import PatternOp
from xdsl.passes import ModulePass
from xdsl.transforms.apply_eqsat_pdl_interp import apply_eqsat_pdl_interp
from xdsl.transforms.convert_pdl_interp_to_eqsat_pdl_interp import ConvertPDLInterpToEqsatPDLInterpPass
from xdsl.transforms.convert_pdl_to_pdl_interp.conversion import ConvertPDLToPDLInterpPass

from et_ir.diagnostics import Diagnostic, PassReport
from et_ir.text import parse_module


@dataclass(frozen=True)
class ApplyEqsatPdlPass(ModulePass):
    """Apply rules of a PDL module by equality saturation."""

    name = "apply-eqsat-pdl"

    pdl_file: str | None = None
    """The text of a module with the rules; without it, they are those of the program's own module."""
    max_iterations: int = 20
    """Rounds of matching all rules."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Add what the rules give to the equivalence classes. Raises `ParseError`, and `PassReport` without rules."""
        rules = self._rules(ctx, op)
        if not rules.body.block.ops:
            where = self.pdl_file or "the module"
            fix = "" if self.pdl_file else "name a module with rules by the option pdl-file"
            raise PassReport("no rules", [Diagnostic(f"{where} has no 'pdl.pattern'", fix=fix)])
        ConvertPDLToPDLInterpPass().apply(ctx, rules)
        ConvertPDLInterpToEqsatPDLInterpPass().apply(ctx, rules)
        apply_eqsat_pdl_interp(op, ctx, rules, self.max_iterations)

    def _rules(self, ctx: Context, module: ModuleOp) -> ModuleOp:
        """A module of the rules alone. Those of the program's module are taken out of it."""
        source = module
        if self.pdl_file is not None:
            source = parse_module(ctx, Path(self.pdl_file).read_text(encoding="utf-8"), self.pdl_file)
        rules = [one for one in source.body.block.ops if isinstance(one, PatternOp)]
        for rule in rules:
            rule.detach()
        return ModuleOp(rules)
