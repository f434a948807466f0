"""Speculative decoding: a small model proposes tokens, the large one checks several in one call.

After Leviathan et al. 2023, section 2, for greedy decoding, where a proposed token is accepted if it is the one that
the large model would have chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from et_schema.errors import Error, ExecutorchError, InputError
from et_vm.llm.model import LanguageModel
from et_vm.llm.session import Session
from et_vm.llm.stats import Stats
from et_vm.values import Array

__all__ = ["Draft"]


class Draft:
    """A model that proposes up to `count` tokens at a time."""

    def __init__(self, model: LanguageModel, count: int = 4) -> None:
        """Raises InputError for a count below 1."""
        if count < 1:
            raise InputError(f"{count} proposed tokens: expected at least 1")
        self.model = model
        self.count = count
        self._session = Session(model)

    def tokens(
        self,
        session: Session,
        logits: Array,
        left: int,
        is_stopped: Callable[[], bool],
        stats: Stats,
        *,
        is_begun: bool = True,
    ) -> Iterator[int]:
        """The greedy continuation of a session's text, at most `left` ids, whose first follows by `logits`.

        `is_begun`: the first continues what was generated before.

        Raises InputError for a draft of another vocabulary, ExecutorchError(NotSupported) for a large model that does
        not give the logits of each token.
        """
        model = session.model
        if self.model.vocabulary != model.vocabulary:
            raise InputError(
                f"the draft has {self.model.vocabulary} token ids, the model {model.vocabulary}",
                hint="both must have the same tokenizer",
            )
        if not model.prefill_step.gives_all or not model.reach:
            is_lasting = model.chunk > 1 and not model.reach
            raise ExecutorchError(
                Error.NotSupported,
                "the state of the model cannot go back to before tokens that are not accepted"
                if is_lasting
                else "the model cannot check several tokens in a call",
                where=model.program.core.name,
                hint="generate without a draft" if is_lasting else "compile it with et-compile --all-logits",
            )
        token = int(model.possible(logits, is_first=not is_begun).argmax())
        common, length = self._common(session), session.length
        while left > 0 and not is_stopped():
            if token in model.eos_ids:
                return
            yield token
            left -= 1
            # All but the first are proposals: what the large model says behind each decides on the next.
            most = min(self.count, model.chunk - 1, session.room - 1, left)
            if session.room == 0:
                return
            if session.length != length:  # who got the token has changed the text
                common = self._common(session)
            start = session.length
            proposed = self._proposals(session, common, token, most)
            rows = session.feed_all([token, *proposed])
            stats.num_draft_tokens += len(proposed)
            chosen = [int(model.possible(row).argmax()) for row in rows]
            accepted = 0
            while accepted < len(proposed) and proposed[accepted] == chosen[accepted]:
                if chosen[accepted] in model.eos_ids or is_stopped():
                    session.rewind(start + 1 + accepted, rows[accepted])
                    return
                yield proposed[accepted]
                stats.num_accepted_tokens += 1
                left -= 1
                accepted += 1
            session.rewind(start + 1 + accepted, rows[accepted])
            length = session.length
            common = min(length, self._session.length)
            token = chosen[accepted]

    def _common(self, session: Session) -> int:
        """The number of tokens that begin the texts of both models: looked at from the beginning once a generation."""
        mine, given = self._session.tokens, session.tokens
        most = min(len(mine), len(given))
        return next((at for at in range(most) if mine[at] != given[at]), most)

    def _proposals(self, large: Session, common: int, token: int, most: int) -> list[int]:
        """The tokens that the small model would continue a text and a token with, up to where its context ends.

        Its own text begins with `common` tokens of the other.
        """
        session = self._session
        common = min(common, session.length)
        back = session.length - common
        if back > self.model.reach:
            session.reset()
            common = 0
        elif back:
            session.rewind(common)
        rest = (*large.tokens_from(common), token)
        most = min(most, session.room - len(rest))
        if most <= 0:
            return []
        logits = session.feed(rest)
        found = [int(logits.argmax())]
        while len(found) < most and found[-1] not in self.model.eos_ids:
            found.append(int(session.feed(found[-1:]).argmax()))
        return found
