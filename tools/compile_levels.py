"""The text of each level that a program passes through, with locations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from et_ir.driver.observer import Observer

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

__all__ = ["LevelTexts"]


class LevelTexts(Observer):
    """Takes down the text of each level that is reached, by its name."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def reached(self, level: str, module: ModuleOp) -> None:
        """A level is reached."""
        from et_ir.text import module_text

        self.texts[level] = module_text(module, debuginfo=True)

    def write(self, folder: str) -> None:
        """Write a file for each level, without weights. Raises `OSError`."""
        from et_schema.files import atomic_writer

        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        for level, text in self.texts.items():
            with atomic_writer(path / f"{level}.mlir") as stream:
                stream.write(text.encode())
