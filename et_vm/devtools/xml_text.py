"""Text of any origin in XML."""

from __future__ import annotations

import re
from typing import Final
from xml.sax.saxutils import escape

__all__ = ["xml_text"]

_NO_TEXT: Final = re.compile("[^\\t\\n\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")


def xml_text(text: str) -> str:
    """The text as the content of an element, with a mark in the place of characters that XML 1.0 cannot represent."""
    return escape(_NO_TEXT.sub("\ufffd", text))
