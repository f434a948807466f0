"""Random damage to JSON, to texts, and to archives and tensors that are described by such."""

from __future__ import annotations

import io
import json
import re
import warnings
import zipfile
from collections.abc import Callable
from random import Random
from typing import Any, Final

from fuzz.mutations import FLOATS, INTS, mutated_bytes

__all__ = ["mutated_json", "mutated_members", "mutated_store", "mutated_words", "undated"]

_STRINGS: Final = (
    *("", "é", "\0", "\x1b]0;title\x07", "\ud800", "x" * 5000, "../victim", "/etc/passwd", "..", "a/b"),
    *("null", "[]", "1e999", "float32", "F32", "BOOL", "auto", "forward", "%s%n{0}", "__class__"),
)
_ATOMS: Final[tuple[Callable[[Random], Any], ...]] = (
    lambda random: random.choice(INTS),
    lambda random: random.choice((10**30, -(10**30), 10**400, 64, 65, 1000, 100_000)),
    lambda random: random.choice(FLOATS),
    lambda random: random.choice(_STRINGS),
    lambda random: random.choice((None, True, False)),
    lambda random: random.choice(([], {}, [[]], [None], {"": None}, [{}])),
    lambda random: _nested(random.choice((10, 300, 5000)), random.random() < 0.5),
)


def _nested(depth: int, is_list: bool) -> Any:
    found: Any = 0
    for _ in range(depth):
        found = [found] if is_list else {"a": found}
    return found


def mutated_json(text: bytes, random: Random) -> bytes:
    """A document with one to three of its values or keys changed, gone, doubled or exchanged; or with damaged bytes."""
    if random.random() < 0.1:
        return mutated_bytes(text, random)
    try:
        return json.dumps(_mutated_document(json.loads(text), random)).encode()
    except (ValueError, RecursionError):
        # A number or a depth that only text can have.
        return b"[" * 5000 + text + b"9" * 5000


def _mutated_document(document: Any, random: Random) -> Any:
    holder: list[Any] = [document]
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        places = _places(holder)
        parent, key = random.choice(places)
        other, at = random.choice(places)
        match random.randrange(7):
            case 0 if parent is not holder:
                del parent[key]
            case 1:
                # A copy: otherwise a value could be inside of itself.
                parent[key] = json.loads(json.dumps(other[at]))
            case 2 if isinstance(parent, list) and parent is not holder:
                parent.extend(json.loads(json.dumps([parent[key]])) * random.choice((1, 2, 100)))
            case 3 if isinstance(parent, dict):
                parent[str(_atom(random, str))] = parent.pop(key)
            case 4 if type(parent[key]) is int:
                parent[key] += random.choice((1, -1, 7))
            case 5 if isinstance(parent[key], str):
                parent[key] = random.choice((parent[key] * 2, parent[key][:-1], parent[key] + "é"))
            case _:
                parent[key] = _atom(random)
    return holder[0]


def _atom(random: Random, kind: type | None = None) -> Any:
    return random.choice(_STRINGS) if kind is str else random.choice(_ATOMS)(random)


def _places(root: Any) -> list[tuple[Any, Any]]:
    """Each value of a document, as what holds it and its key there."""
    found: list[tuple[Any, Any]] = []
    pending = [root]
    while pending:
        holder = pending.pop()
        keys = list(holder) if isinstance(holder, dict) else range(len(holder))
        for key in keys:
            found.append((holder, key))
            if isinstance(holder[key], dict | list):
                pending.append(holder[key])
    return found


def mutated_words(text: str, random: Random, parts: re.Pattern[str], strange: tuple[str, ...]) -> str:
    """A text with one or two of its parts gone, changed, doubled or exchanged; also everywhere."""
    words = parts.findall(text) or [""]
    for _ in range(random.choice((1, 1, 2))):
        if not words:
            break
        at, other = random.randrange(len(words)), random.randrange(len(words))
        new = random.choice((words[other], random.choice(strange)))
        match random.randrange(5):
            case 0:
                del words[at]
            case 1:
                words.insert(at, new)
            case 2:
                words[at], words[other] = words[other], words[at]
            case 3:
                words[at] = new
            case _:
                old = words[at]
                words = [new if part == old and not old.isspace() else part for part in words]
    return "".join(words)


_SAME_SIZE: Final = (
    ("F32", "I32", "U32"),
    ("F64", "I64", "U64", "C64"),
    ("BOOL", "U8", "I8", "F8_E5M2"),
    ("F16", "BF16"),
)


def mutated_store(data: bytes, random: Random) -> bytes:
    """A `.safetensors` file with other data, another element type or shape of the same size, or another header, the
    length of which is right in most cases; or with damaged bytes.
    """
    end = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:end])
    entry = header[random.choice(list(header))]
    match random.randrange(8):
        case 0:
            return mutated_bytes(data, random)
        case 1:
            return data[:end] + bytes(random.randrange(256) for _ in data[end:])
        case 2:
            kinds = [kind for kinds in _SAME_SIZE if entry["dtype"] in kinds for kind in kinds]
            entry["dtype"] = random.choice(kinds)
        case 3:
            entry["shape"] = random.choice(
                (entry["shape"][::-1], [1] * random.choice((1, 70)) + entry["shape"], [-1])
            )
        case 4:
            one, other = (random.choice(list(header)) for _ in range(2))
            header[one], header[other] = header[other], header[one]
        case _:
            changed = mutated_json(data[8:end], random)
            length = random.choice((len(changed),) * 8 + (len(changed) + 1, 0, 2**63, 2**64 - 1))
            return length.to_bytes(8, "little") + changed + data[end:]
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data[end:]


def undated(data: bytes) -> bytes:
    """A zip archive whose members have no time, so that it is the same in each run."""
    return _packed([(info, content) for info, content in _members(data)])


def _members(data: bytes) -> list[tuple[zipfile.ZipInfo, bytes]]:
    source = zipfile.ZipFile(io.BytesIO(data))
    found: list[tuple[zipfile.ZipInfo, bytes]] = []
    for info in source.infolist():
        made = zipfile.ZipInfo(info.filename)
        made.compress_type = info.compress_type
        found.append((made, source.read(info)))
    return found


def _packed(members: list[tuple[zipfile.ZipInfo, bytes]]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for info, content in members:
            archive.writestr(info, content)
    return stream.getvalue()


def mutated_members(data: bytes, random: Random, change: Callable[[bytes, Random], bytes]) -> bytes:
    """A zip archive with a changed, absent or doubled member, or another of its name; or with damaged bytes."""
    if random.random() < 0.25:
        return mutated_bytes(data, random)
    members = _members(data)
    at, action = random.randrange(len(members)), random.randrange(8)
    info, content = members[at]
    method = random.choice((zipfile.ZIP_STORED, zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2))
    if action == 0:
        del members[at]
    elif action == 1:
        info.filename += random.choice(("x", "/y", ".npy"))
    elif action == 2:
        info.compress_type = method
        members[at] = (info, content + bytes(1 << 20))
    elif action == 3:
        members.insert(at, members[random.randrange(len(members))])
    else:
        info.compress_type = method
        members[at] = (info, change(content, random))
    with warnings.catch_warnings(action="ignore"):  # of two members of one name
        return _packed(members)
