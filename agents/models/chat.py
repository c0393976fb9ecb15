"""From messages to tokens and back, by a model's own tokenizer and chat template. What messages say stays text."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from threading import Lock
from typing import Any

from agents.models.model import Message
from games.errors import UserError, in_words

_PRIVATE = (range(0xE000, 0xF900), range(0xF0000, 0xFFFFE), range(0x100000, 0x10FFFE))
"""Characters that mean nothing (Unicode's private use areas): they stand for what must not be read as a token."""
_PROBE = "a message of the system"
KNOWN = 512
"""Prompts whose tokens are kept, and answers whose text is: many matches of a group come to the same position at about
the same time. (A template that tells the date may tell it as it was when a prompt was first asked.)"""


class Chat:
    """A tokenizer with its chat template; any thread may use it."""

    def __init__(self, name: str, tokenizer: Any) -> None:
        """`tokenizer` is one of transformers. Raises UserError where it has no chat template that can be used."""
        self.name = name
        self._tokenizer = tokenizer
        self._inner = getattr(tokenizer, "backend_tokenizer", None)
        self._lock = Lock()
        template = str(getattr(tokenizer, "chat_template", None) or "")
        if not template:
            raise UserError(
                f"model {name}: its tokenizer has no chat template, so it is no chat model; "
                "a file chat_template.jinja in its folder would make it one"
            )
        control = [
            token.content
            for token in tokenizer.added_tokens_decoder.values()
            if token.special or (token.content in template and not token.content.isspace())
        ]
        self._control = re.compile("|".join(map(re.escape, sorted(control, key=len, reverse=True))) or "(?!)")
        self._control_ids = set(tokenizer.convert_tokens_to_ids(control))
        if broken := [word for word in control if self._control_ids & set(self._plain(word))]:
            raise UserError(f"model {name}: its tokenizer cannot write {broken[0]!r} as plain text")
        self._takes_system = self._shows_system(name)
        self._known = lru_cache(KNOWN)(self._tokens)
        self._texts = lru_cache(KNOWN)(self._text)

    def prompt_ids(self, prompt: Sequence[Message]) -> list[int]:
        """The tokens of a prompt that asks for an answer; a last message of the assistant's begins that answer.

        What messages say never becomes a token that steers the model, such as one that ends a message.
        """
        return list(self._known(tuple(prompt)))

    def _tokens(self, prompt: Sequence[Message]) -> Sequence[int]:
        told = list(prompt)
        begun = told.pop().content if told and told[-1].role == "assistant" else ""
        if not self._takes_system:
            told = _folded(told)
        hidden = self._hidden([begun, *[message.content for message in told]])
        rows = [{"role": message.role, "content": self._without(message.content, hidden)} for message in told]
        try:
            with self._lock:
                text = self._tokenizer.apply_chat_template(rows, tokenize=False, add_generation_prompt=True)
        except _template_errors() as error:
            roles = ", ".join(message.role for message in told)
            raise UserError(f"the model's chat template refuses messages of {roles}: {in_words(error)}") from error
        return self._ids(str(text) + self._without(begun, hidden), hidden)

    def text_ids(self, text: str) -> list[int]:
        """The tokens of a text by itself, in which nothing is a token that steers the model."""
        hidden = self._hidden([text])
        return self._ids(self._without(text, hidden), hidden)

    def text(self, ids: Sequence[int]) -> str:
        """The text of some tokens, without those that steer the model."""
        return self._texts(tuple(ids))

    def _text(self, ids: Sequence[int]) -> str:
        with self._lock:
            return str(self._tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False))

    def _hidden(self, texts: Sequence[str]) -> Mapping[str, str]:
        """A character that is in none of the texts for each word in them that would become a steering token."""
        found = sorted({word for text in texts for word in self._control.findall(text)})
        if not found:
            return {}
        used = set().union(*texts)
        free = (chr(code) for area in _PRIVATE for code in area if chr(code) not in used)
        return dict(zip(found, free, strict=False))

    def _without(self, text: str, hidden: Mapping[str, str]) -> str:
        """A text with its steering words hidden."""
        return self._control.sub(lambda found: hidden[found[0]], text)

    def _ids(self, text: str, hidden: Mapping[str, str]) -> list[int]:
        """The tokens of a text, its hidden words as plain text among them."""
        words = {character: word for word, character in hidden.items()}
        parts = re.split(f"([{''.join(words)}])", text) if words else [text]
        ids: list[int] = []
        for part in parts:
            if part in words:
                ids += self._plain(words[part])
            elif part:
                ids += self._encoded(part)
        return ids

    def _encoded(self, text: str) -> Sequence[int]:
        """The tokens of a text in which steering words steer.

        Asked by itself, what is inside a tokenizer takes a third of the time: it need not tell where tokens stand. It
        is left by a call as the last one had it, and any call without settings puts that right.
        """
        with self._lock:
            inner = self._inner
            if inner is None or inner.encode_special_tokens or inner.truncation or inner.padding:
                ids: Sequence[int] = self._tokenizer(text, add_special_tokens=False)["input_ids"]
                return ids
            ids = inner.encode_batch_fast([text], add_special_tokens=False)[0].ids
            return ids

    def _plain(self, word: str) -> list[int]:
        """The tokens of a steering word as plain text."""
        with self._lock:
            ids = list(self._tokenizer(word, add_special_tokens=False, split_special_tokens=True)["input_ids"])
        if len(word) > 1 and self._control_ids & set(ids):  # some tokens steer without being called special
            return self._plain(word[0]) + self._plain(word[1:])
        return ids

    def _shows_system(self, name: str) -> bool:
        """Whether the template has a place for what the system says. Raises UserError for one that fails."""
        user = {"role": "user", "content": "hello"}
        try:
            self._tokenizer.apply_chat_template([user], tokenize=False, add_generation_prompt=True)
        except _template_errors() as error:
            raise UserError(f"model {name}: its chat template fails: {in_words(error)}") from error
        system = {"role": "system", "content": _PROBE}
        try:
            return _PROBE in self._tokenizer.apply_chat_template([system, user], tokenize=False)
        except _template_errors():
            return False


def _template_errors() -> tuple[type[Exception], ...]:
    from jinja2.exceptions import TemplateError

    return TemplateError, ValueError, TypeError


def _folded(messages: Sequence[Message]) -> list[Message]:
    """Messages whose system messages are at the beginning of the first message of the user's."""
    system = [message.content for message in messages if message.role == "system"]
    others = [message for message in messages if message.role != "system"]
    if not system:
        return others
    first = next((i for i, message in enumerate(others) if message.role == "user"), None)
    if first is None:
        return [Message("user", "\n\n".join(system)), *others]
    others[first] = Message("user", "\n\n".join([*system, others[first].content]))
    return others
