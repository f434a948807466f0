"""Constant methods of speech models: tokens that transcriptions begin with."""

from __future__ import annotations

from typing import Any, cast

from et_ir.language_models.errors import LanguageModelError

__all__ = ["speech_metadata"]


def speech_metadata(model: Any) -> dict[str, list[int]]:
    """Constant methods of a speech model: the ids that a transcription without timestamps begins with, and those of
    languages, for a model of several.

    The ids are those of `WhisperForConditionalGeneration.generate`: of the language and the task that the configuration
    names, or of its `forced_decoder_ids`. Raises `LanguageModelError` for a configuration that makes no sense.
    """
    generation = model.generation_config
    start = [_id(generation, "decoder_start_token_id")]
    languages = _table(generation, "lang_to_id")
    tasks = _table(generation, "task_to_id")
    language, task = (getattr(generation, name, None) for name in ("language", "task"))
    if language is None and task is None:
        spoken, *others = _forced(model) or [None]
    else:
        spoken, others = (None if language is None else _language(languages, language)), []
        # A language without a task is transcribed.
        done = task if task is not None else "transcribe" if tasks else None
        if done is not None:
            if done not in tasks:
                raise LanguageModelError(f"generation_config.json: task {done!r} is not in 'task_to_id'")
            others = [tasks[done]]
    start += [one for one in (spoken, *others) if one is not None]
    last = getattr(generation, "no_timestamps_token_id", None)
    if last is not None and start[-1] != last:
        start.append(_id(generation, "no_timestamps_token_id"))
    constants = {"get_decoder_start_ids": start}
    # One that is forced in the place of a language is one, so that none is told by the model.
    if languages and (spoken is None or spoken in languages.values()):
        constants["get_language_ids"] = sorted(set(languages.values()))
    return constants


def _forced(model: Any) -> list[int | None]:
    """The ids behind the first that are forced, `None` for a language that the model tells."""
    found: Any = getattr(model.generation_config, "forced_decoder_ids", None)
    found = getattr(model.config, "forced_decoder_ids", None) if found is None else found
    pairs = cast("list[Any]", found or [])
    try:
        places, ids = [int(pair[0]) for pair in pairs], [pair[1] for pair in pairs]
        is_sound = places == list(range(1, len(places) + 1)) and all(
            one is None or type(one) is int for one in ids
        )
    except (TypeError, ValueError, LookupError):
        places, ids, is_sound = [], [], False
    if not is_sound:
        raise LanguageModelError(
            f"generation_config.json: forced_decoder_ids is {found!r}, no pairs of places from 1 on and token ids"
        )
    return ids


def _language(languages: dict[str, int], name: Any) -> int:
    from transformers.models.whisper.tokenization_whisper import TO_LANGUAGE_CODE

    code = TO_LANGUAGE_CODE.get(str(name).lower(), str(name).lower())
    found = languages.get(code, languages.get(f"<|{code}|>"))
    if found is None:
        raise LanguageModelError(f"generation_config.json: language {name!r} is not in 'lang_to_id'")
    return found


def _table(generation: Any, name: str) -> dict[str, int]:
    found: Any = getattr(generation, name, None)
    if found is None:
        return {}
    if not isinstance(found, dict) or not all(
        type(one) is int for one in cast("dict[str, Any]", found).values()
    ):
        raise LanguageModelError(f"generation_config.json: {name} is {found!r}, no table of token ids")
    return cast("dict[str, int]", found)


def _id(generation: Any, name: str) -> int:
    found: Any = getattr(generation, name, None)
    if type(found) is not int:
        raise LanguageModelError(f"generation_config.json: {name} is {found!r}, no token id")
    return found
