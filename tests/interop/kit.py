"""Tiny models of other people's, drawn by a seed, and what to give them."""

import numpy as np
import torch

VOCABULARY = 61


def text(rows=2, length=7, seed=3):
    chance = torch.Generator().manual_seed(seed)
    return torch.randint(5, VOCABULARY, (rows, length), generator=chance)


def padded(length=7):
    """Two rows, the second padded behind its fourth place."""
    mask = torch.ones(2, length, dtype=torch.long)
    mask[1, 4:] = 0
    return mask


SIZES = {
    "vocab_size": VOCABULARY,
    "hidden_size": 12,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 17,
    "max_position_embeddings": 40,
    "pad_token_id": 1,
}
BART = {
    "vocab_size": VOCABULARY,
    "d_model": 12,
    "encoder_layers": 2,
    "decoder_layers": 1,
    "encoder_attention_heads": 3,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 17,
    "decoder_ffn_dim": 17,
    "max_position_embeddings": 40,
    "pad_token_id": 1,
    "bos_token_id": 0,
    "eos_token_id": 2,
    "decoder_start_token_id": 2,
    "forced_eos_token_id": 2,
}


def reading(**more):
    return {"input_ids": text(), "attention_mask": padded(), **more}


def writing():
    return reading(decoder_input_ids=text(2, 5, seed=4))


def _image():
    return {"pixel_values": torch.randn(1, 3, 8, 8, generator=torch.Generator().manual_seed(1))}


def _sound():
    chance = torch.Generator().manual_seed(1)
    features = torch.randn(1, 8, 20, generator=chance)
    return {"input_features": features, "decoder_input_ids": text(1, 5)}


def configurations():
    """Name -> (class of the model, its configuration, its inputs, how many attentions it has)."""
    import transformers as hf

    t5 = {
        "vocab_size": VOCABULARY,
        "d_model": 12,
        "d_kv": 5,
        "d_ff": 17,
        "num_layers": 2,
        "num_decoder_layers": 2,
        "num_heads": 3,
        "pad_token_id": 0,
        "eos_token_id": 1,
        "decoder_start_token_id": 0,
        "dropout_rate": 0.0,
    }
    llama = dict(SIZES, num_attention_heads=4, num_key_value_heads=2, hidden_size=16)
    whisper = {
        "vocab_size": VOCABULARY,
        "d_model": 12,
        "encoder_layers": 2,
        "decoder_layers": 1,
        "encoder_attention_heads": 3,
        "decoder_attention_heads": 2,
        "encoder_ffn_dim": 17,
        "decoder_ffn_dim": 17,
        "num_mel_bins": 8,
        "max_source_positions": 10,
        "max_target_positions": 20,
        "pad_token_id": 1,
        "bos_token_id": 0,
        "eos_token_id": 2,
        "decoder_start_token_id": 3,
        "suppress_tokens": None,
        "begin_suppress_tokens": None,
    }
    vit = {
        "hidden_size": 12,
        "num_hidden_layers": 2,
        "num_attention_heads": 3,
        "intermediate_size": 17,
        "image_size": 8,
        "patch_size": 4,
        "num_labels": 5,
    }
    return {
        "bert": (hf.BertModel, hf.BertConfig(**SIZES), reading(), 2),
        "roberta": (hf.RobertaModel, hf.RobertaConfig(**SIZES), reading(), 2),
        "electra": (hf.ElectraModel, hf.ElectraConfig(embedding_size=12, **SIZES), reading(), 2),
        "mpnet": (hf.MPNetModel, hf.MPNetConfig(**SIZES), reading(), 2),
        "distilbert": (
            hf.DistilBertModel,
            hf.DistilBertConfig(
                vocab_size=VOCABULARY, dim=12, n_layers=2, n_heads=3, hidden_dim=17
            ),
            reading(),
            2,
        ),
        "gpt2": (
            hf.GPT2LMHeadModel,
            hf.GPT2Config(vocab_size=VOCABULARY, n_embd=12, n_layer=2, n_head=3, n_positions=40),
            reading(),
            2,
        ),
        "llama": (hf.LlamaForCausalLM, hf.LlamaConfig(**llama), reading(), 2),
        "qwen2": (hf.Qwen2ForCausalLM, hf.Qwen2Config(**llama), reading(), 2),
        "gemma2": (
            hf.Gemma2ForCausalLM,
            hf.Gemma2Config(head_dim=4, sliding_window=3, **llama),
            reading(),
            2,
        ),
        "marian": (hf.MarianMTModel, hf.MarianConfig(**BART), writing(), 4),
        "bart": (hf.BartForConditionalGeneration, hf.BartConfig(**BART), writing(), 4),
        "mbart": (hf.MBartForConditionalGeneration, hf.MBartConfig(**BART), writing(), 4),
        "nllb": (hf.M2M100ForConditionalGeneration, hf.M2M100Config(**BART), writing(), 4),
        "t5": (hf.T5ForConditionalGeneration, hf.T5Config(**t5), writing(), 6),
        "whisper": (
            hf.WhisperForConditionalGeneration,
            hf.WhisperConfig(**whisper),
            _sound(),
            4,
        ),
        "vit": (hf.ViTForImageClassification, hf.ViTConfig(**vit), _image(), 2),
    }


def made(name, implementation=None):
    """A model of this kind, its numbers drawn by one seed; large, so that weights are far from even."""
    kind, configuration, inputs, count = configurations()[name]
    torch.manual_seed(7)
    more = {} if implementation is None else {"attn_implementation": implementation}
    model = kind._from_config(configuration, **more).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(1.0 if name == "t5" else 8.0)  # T5 begins with large ones
    return model, inputs, count


def plain(tensor):
    return np.asarray(tensor.detach())
