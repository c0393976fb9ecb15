"""A small language model of a game's own words, with random weights: what is there to learn from nothing on a CPU.

Its tokens are whole lines of the game's prompts, single words for what is seldom, and whole answers. It says one token
at a time and stops: an action is one decision, as it is for a classical agent.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from agents.parsing import CLOSE, OPEN
from games.errors import UserError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

PAD, END, ASK = SPECIAL = ("<pad>", "<end>", "<ask>")
UNKNOWN = "<unk>"
"""What stands for any other word; as no special token, it steers nothing."""
MOST_LINES = 4_096
MOST_WORDS = 4_096
MOST_ACTIONS = 4_096
OFTEN = 2
"""Times that a line must have been met to be a token."""
HEAD = 16
"""Width of a head of attention."""
CONTEXT = 4_096
TEMPLATE = (
    "{% for message in messages %}{{ message['content'] }}\n{% endfor %}"
    f"{{% if add_generation_prompt %}}{ASK}{{% endif %}}"
)


class Size(NamedTuple):
    """How large a model is."""

    layers: int = 2
    hidden: int = 64


def check(size: Size) -> None:
    """Raises UserError for a width that cannot be split into heads, and for no layers."""
    if size.hidden % HEAD or size.hidden < HEAD or size.layers < 1:
        raise UserError(
            f"tiny(layers={size.layers},hidden={size.hidden}): hidden is a multiple of {HEAD}, layers from 1"
        )


def build(folder: Path, lines: Mapping[str, int], actions: Iterable[str], size: Size, seed: int) -> None:
    """Write a model into a folder, for prompts of these lines, each met so often, that answers with one of the actions.

    Raises UserError for a width that cannot be split into heads, and for more actions than a model may have.
    """
    from agents.models.weights import quiet

    check(size)
    tokenizer = _tokenizer(lines, actions)
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=size.hidden,
        intermediate_size=4 * size.hidden,
        num_hidden_layers=size.layers,
        num_attention_heads=size.hidden // HEAD,
        num_key_value_heads=size.hidden // HEAD,
        max_position_embeddings=CONTEXT,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=list(range(len(tokenizer))),  # whatever it says is a whole answer
        pad_token_id=tokenizer.pad_token_id,
    )
    with torch.random.fork_rng(), quiet():
        torch.manual_seed(seed)
        LlamaForCausalLM(config).save_pretrained(folder)
        tokenizer.save_pretrained(folder)


def _tokenizer(met: Mapping[str, int], actions: Iterable[str]) -> "PreTrainedTokenizerFast":
    from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    answers = [f"{OPEN}{action}{CLOSE}" for action in sorted(set(actions))]
    if not 0 < len(answers) <= MOST_ACTIONS:
        raise UserError(f"a tiny model needs 1 to {MOST_ACTIONS} actions, and {len(answers)} were met")
    lines = [line for line, times in _ranked(met, MOST_LINES) if times >= OFTEN]
    split = pre_tokenizers.Whitespace()
    words: Counter[str] = Counter()
    for line in met.keys() - set(lines):
        for word, _ in split.pre_tokenize_str(line):
            words[word] += met[line]
    known = [*SPECIAL, UNKNOWN, *[word for word, _ in _ranked(words, MOST_WORDS)]]
    tokenizer = Tokenizer(models.WordLevel({word: place for place, word in enumerate(known)}, unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = split
    tokenizer.add_special_tokens([AddedToken(word, special=True, normalized=False) for word in SPECIAL])
    tokenizer.add_tokens(
        [AddedToken(word, single_word=True, normalized=False) for word in [*lines, *answers] if word not in known]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=END,
        pad_token=PAD,
        additional_special_tokens=[ASK],
        chat_template=TEMPLATE,
        model_max_length=CONTEXT,
        clean_up_tokenization_spaces=False,
        padding_side="left",
    )


def _ranked(met: Mapping[str, int], most: int) -> list[tuple[str, int]]:
    """The most frequent, in an order that does not depend on how they came."""
    return sorted(met.items(), key=lambda item: (-item[1], item[0]))[:most]
