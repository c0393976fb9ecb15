"""A tiny Llama with random weights, a tokenizer for any text and a chat template: a real model for quick tests."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""The template of SmolLM2, without its default system message."""
NO_SYSTEM = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system role') }}{% endif %}" + CHATML
"""A template that refuses a system role, as Gemma's does."""
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
CORPUS = ["rock paper scissors <action>r0c2</action> the move of the game is legal and you play it to win the match"]
"""What the tokenizer's few tokens of more than one byte are made of."""


def tiny_folder(
    path: Path, *, layers: int = 2, hidden: int = 64, seed: int = 0, context: int = 2048, template: str = CHATML
) -> Path:
    """Write a model folder: config, tokenizer with a chat template, safetensors in float32. Gives the folder."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    tokenizer = _tokenizer(context, template)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=hidden,
        intermediate_size=2 * hidden,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=context,
        initializer_range=0.2,  # ten times the usual: the next token is then far from uniform
        tie_word_embeddings=True,
        bos_token_id=tokenizer.convert_tokens_to_ids("<|im_start|>"),
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = LlamaForCausalLM(config)
    model.save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path


def tiny_adapter(base: Path, path: Path, *, seed: int = 1, rank: int = 4) -> Path:
    """Write a LoRA adapter of a folder's model whose weights are random, so that it changes answers. Gives its folder.

    It is of the attention's `q_proj` and `v_proj`, and large: an adapter that did nothing would hide mistakes.
    """
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    with torch.random.fork_rng():
        torch.manual_seed(seed)
        config = LoraConfig(
            r=rank,
            lora_alpha=8 * rank,
            target_modules=["q_proj", "v_proj"],
            init_lora_weights=False,
            task_type="CAUSAL_LM",
        )
        get_peft_model(AutoModelForCausalLM.from_pretrained(base), config).save_pretrained(path)
    return path


def _tokenizer(context: int, template: str) -> PreTrainedTokenizerFast:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    plain = Tokenizer(models.BPE())
    plain.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    plain.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=320,
        min_frequency=1,
        special_tokens=SPECIAL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    plain.train_from_iterator(CORPUS, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=plain,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        additional_special_tokens=["<|im_start|>"],
        chat_template=template,
        model_max_length=context,
        clean_up_tokenization_spaces=False,
    )
