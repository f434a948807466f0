"""Beginnings of transcriptions: tokens of prompt, language and task.

After Radford et al. 2022 (Whisper), section 2.3.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from et_schema.errors import InputError
from et_vm.llm.model import Audio
from et_vm.llm.session import Session
from et_vm.llm.text import Tokenizer
from et_vm.values import Array

__all__ = ["TASKS", "start_transcription"]

TASKS: Final = ("transcribe", "translate")
"""Tasks for speech: transcription, or translation into English."""
_PREVIOUS: Final = "<|startofprev|>"


def start_transcription(
    session: Session,
    tokenizer: Tokenizer,
    features: Array,
    *,
    previous: str = "",
    language: str | None = None,
    task: str | None = None,
) -> Array:
    """Have a session read audio and the tokens before its transcription; the logits `[V]` f32 of the first one.

    `features` are `[1, bands, frames]` f32. `previous` is a text that the speech seems to continue. The `language` is a
    code as `en`; without one it is that which the program says, or the likeliest for the model. Raises InputError,
    with nothing changed, for a language or a task that the model does not know, and what does not fit into the context.
    """
    audio = session.model.audio
    if audio is None or not audio.start_ids:
        raise InputError(
            "the program does not say which tokens transcriptions begin with",
            hint="they are what the constant method 'get_decoder_start_ids' returns",
        )
    before = _previous(tokenizer, previous)
    start = _start(audio, tokenizer, language, task)
    room = session.model.context - len(start)
    if len(before) > room:
        raise InputError(
            f"a prompt of {len(before)} tokens does not fit before the {len(start)} of a transcription, "
            f"into the context of {session.model.context}",
            hint="shorten it, or compile the model with a larger et-compile --max-len",
        )
    session.encode_features(features)
    if None in start:
        logits = session.feed([audio.start_ids[0]])
        spoken = audio.language_ids[int(np.argmax(logits[list(audio.language_ids)]))]
        session.reset()
        start = [spoken if one is None else one for one in start]
    return session.feed(before + [one for one in start if one is not None])


def _previous(tokenizer: Tokenizer, text: str) -> list[int]:
    if not text.strip():
        return []
    mark = tokenizer.id_of(_PREVIOUS)
    if mark is None:
        raise InputError(
            f"the tokenizer has no {_PREVIOUS}, which begins a prompt of audio",
            where=str(tokenizer.file),
            hint="leave out the prompt",
        )
    return [mark, *tokenizer.encode_rest(f" {text.strip()}")]


def _start(audio: Audio, tokenizer: Tokenizer, language: str | None, task: str | None) -> list[int | None]:
    """The ids that a transcription begins with, with `None` for a language that the model is to tell."""
    first, *others = audio.start_ids
    spoken = next((one for one in others if one in audio.language_ids), None)
    if (language is not None or task is not None) and not audio.language_ids:
        raise InputError("the model has one language and one task", hint="leave them out")
    if language is not None:
        others = [one for one in others if one != spoken]
        spoken = tokenizer.id_of(f"<|{language.lower()}|>")
        if spoken not in audio.language_ids:
            known = (tokenizer.decode([one], special=True).strip("<|>") for one in audio.language_ids)
            raise InputError(f"language {language!r}: expected one of {', '.join(known)}")
        others = [spoken, *others]
    tasks = {name: tokenizer.id_of(f"<|{name}|>") for name in TASKS}
    if task is not None and tasks.get(task) is None:
        raise InputError(f"task {task!r}: the model has none of this name", hint="leave it out")
    done = next((one for one in others if one in tasks.values()), None)
    # A language without a task is transcribed.
    wanted = tasks[task or TASKS[0]] if task is not None or (language is not None and done is None) else None
    if wanted is not None:
        others = [one for one in others if one != done]
        others.insert(0 if spoken is None else 1, wanted)
    return [first, *others] if spoken is not None or not audio.language_ids else [first, None, *others]
