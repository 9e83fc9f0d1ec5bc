"""Parity with Hugging Face: Marian, BERT and GPT-2 of a tiny random size, their weights in our modules."""

import warnings

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from regard.models import (
    ModelSettings,
    Sizes,
    TagSettings,
    TransformerReaderSettings,
    TransformerSettings,
    build,
)

WIDTH, HEADS, INNER, LAYERS, WORDS, LIMIT = 12, 3, 17, 2, 23, 19
BLOCKS = {
    "width": WIDTH,
    "heads": HEADS,
    "feedforward": INNER,
    "layers": LAYERS,
    "max_length": LIMIT,
}
LENGTHS = torch.tensor([7, 4, 1])
REAL = torch.arange(7) < LENGTHS.unsqueeze(1)


def foreign(make):
    """A model of theirs with every weight, norms and biases too, shaken away from its first value."""
    torch.manual_seed(13)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:  # sines and cosines stay what they are
                parameter.add_(torch.randn_like(parameter), alpha=0.1)
    return model


def ids(*shape):
    return torch.randint(3, WORDS, shape, generator=torch.Generator().manual_seed(5))


def close(found, expected):
    assert_close(found, expected, atol=1e-5, rtol=1e-5)


def copy_norm(ours, theirs):
    ours.load_state_dict(theirs.state_dict())


def copy_marian_heads(ours, theirs):
    for mine, other in (("query", "q"), ("key", "k"), ("value", "v"), ("output", "out")):
        getattr(ours, mine).load_state_dict(getattr(theirs, f"{other}_proj").state_dict())


def copy_marian_layer(ours, theirs):
    copy_marian_heads(ours.attention, theirs.self_attn)
    copy_norm(ours.attention_residual.norm, theirs.self_attn_layer_norm)
    if hasattr(theirs, "encoder_attn"):
        copy_marian_heads(ours.cross, theirs.encoder_attn)
        copy_norm(ours.cross_residual.norm, theirs.encoder_attn_layer_norm)
    ours.feedforward.widen.load_state_dict(theirs.fc1.state_dict())
    ours.feedforward.narrow.load_state_dict(theirs.fc2.state_dict())
    copy_norm(ours.feedforward_residual.norm, theirs.final_layer_norm)


def test_marian():
    """Sines left and cosines right, swish, post-norm, a scaled embedding that all share, a final bias."""
    from transformers import MarianConfig, MarianMTModel

    config = MarianConfig(
        vocab_size=WORDS,
        d_model=WIDTH,
        encoder_layers=LAYERS,
        decoder_layers=LAYERS,
        encoder_attention_heads=HEADS,
        decoder_attention_heads=HEADS,
        encoder_ffn_dim=INNER,
        decoder_ffn_dim=INNER,
        activation_function="swish",
        max_position_embeddings=LIMIT,
        scale_embedding=True,
        pad_token_id=0,
        eos_token_id=2,
        decoder_start_token_id=0,
        forced_eos_token_id=2,
    )
    theirs = foreign(lambda: MarianMTModel(config))
    theirs.final_logits_bias.normal_()
    choices = {"norm": "post", "activation": "swish", "position": "sinusoidal-halves"}
    ours = build(
        ModelSettings(
            encoder=TransformerSettings(**BLOCKS, **choices),
            reader=TransformerReaderSettings(**BLOCKS, **choices, output_bias=True),
        ),
        Sizes(source=WORDS, target=WORDS, begin=0, end=2, shared=True),
    ).eval()
    with torch.no_grad():
        ours.encoder.embedding.table.weight.copy_(theirs.model.shared.weight)
        ours.reader.output.bias.copy_(theirs.final_logits_bias[0])
    for mine, other in (
        (ours.encoder.blocks, theirs.model.encoder.layers),
        (ours.reader.blocks, theirs.model.decoder.layers),
    ):
        for block, layer in zip(mine, other, strict=True):
            copy_marian_layer(block, layer)

    source, inputs = ids(3, 7), ids(3, 5)
    with torch.no_grad():
        found = ours(source, LENGTHS, inputs)
        expected = theirs(
            input_ids=source, attention_mask=REAL.long(), decoder_input_ids=inputs, use_cache=False
        ).logits

    close(found, expected)


def copy_bert_layer(ours, theirs):
    within = theirs.attention.self
    for name in ("query", "key", "value"):
        getattr(ours.attention, name).load_state_dict(getattr(within, name).state_dict())
    ours.attention.output.load_state_dict(theirs.attention.output.dense.state_dict())
    copy_norm(ours.attention_residual.norm, theirs.attention.output.LayerNorm)
    ours.feedforward.widen.load_state_dict(theirs.intermediate.dense.state_dict())
    ours.feedforward.narrow.load_state_dict(theirs.output.dense.state_dict())
    copy_norm(ours.feedforward_residual.norm, theirs.output.LayerNorm)


def test_bert():
    """Learned positions, a norm over the embedding, post-norm, gelu; token type 0 folded into the words."""
    from transformers import BertConfig, BertModel

    config = BertConfig(
        vocab_size=WORDS,
        hidden_size=WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        intermediate_size=INNER,
        max_position_embeddings=LIMIT,
        layer_norm_eps=1e-12,
        pad_token_id=0,
    )
    theirs = foreign(lambda: BertModel(config, add_pooling_layer=False))
    encoder = TransformerSettings(
        **BLOCKS,
        norm="post",
        norm_eps=1e-12,
        activation="gelu",
        position="learned",
        scale_embedding=False,
        embedding_norm=True,
    )
    ours = build(
        ModelSettings(encoder=encoder, reader=TagSettings()), Sizes(WORDS, labels=2)
    ).eval()
    words, table = theirs.embeddings, ours.encoder.embedding
    with torch.no_grad():
        table.table.weight.copy_(
            words.word_embeddings.weight + words.token_type_embeddings.weight[0]
        )
        table.position.weight.copy_(words.position_embeddings.weight)
    copy_norm(table.norm, words.LayerNorm)
    for block, layer in zip(ours.encoder.blocks, theirs.encoder.layer, strict=True):
        copy_bert_layer(block, layer)

    source = ids(3, 7)
    with torch.no_grad():
        found = ours.encode(source, LENGTHS).states
        expected = theirs(input_ids=source, attention_mask=REAL.long()).last_hidden_state

    close(found[REAL], expected[REAL])


def copy_turned(ours: nn.Linear, weight, bias):
    """GPT-2 keeps its maps the other way round."""
    ours.weight.data.copy_(weight.mT)
    ours.bias.data.copy_(bias)


def copy_gpt2_layer(ours, theirs):
    heads, within = ours.attention, theirs.attn
    for linear, weight, bias in zip(
        (heads.query, heads.key, heads.value),
        within.c_attn.weight.chunk(3, 1),
        within.c_attn.bias.chunk(3),
        strict=True,
    ):
        copy_turned(linear, weight, bias)
    copy_turned(heads.output, within.c_proj.weight, within.c_proj.bias)
    copy_turned(ours.feedforward.widen, theirs.mlp.c_fc.weight, theirs.mlp.c_fc.bias)
    copy_turned(ours.feedforward.narrow, theirs.mlp.c_proj.weight, theirs.mlp.c_proj.bias)
    copy_norm(ours.attention_residual.norm, theirs.ln_1)
    copy_norm(ours.feedforward_residual.norm, theirs.ln_2)


@pytest.fixture(scope="module")
def gpt2():
    """Both models, theirs and ours: pre-norm, gelu by tanh, learned positions, tied output."""
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        vocab_size=WORDS,
        n_positions=LIMIT,
        n_embd=WIDTH,
        n_layer=LAYERS,
        n_head=HEADS,
        n_inner=INNER,
        bos_token_id=1,
        eos_token_id=2,
    )
    theirs = foreign(lambda: GPT2LMHeadModel(config))
    reader = TransformerReaderSettings(
        **BLOCKS, norm="pre", activation="gelu-tanh", position="learned", scale_embedding=False
    )
    ours = build(ModelSettings(reader=reader), Sizes(target=WORDS)).eval()
    with torch.no_grad():
        ours.reader.embedding.table.weight.copy_(theirs.transformer.wte.weight)
        ours.reader.embedding.position.weight.copy_(theirs.transformer.wpe.weight)
    copy_norm(ours.reader.norm, theirs.transformer.ln_f)
    for block, layer in zip(ours.reader.blocks, theirs.transformer.h, strict=True):
        copy_gpt2_layer(block, layer)
    return theirs, ours


def test_gpt2(gpt2):
    theirs, ours = gpt2
    inputs = ids(3, 7)
    with torch.no_grad():
        found, expected = ours(inputs, None, inputs), theirs(input_ids=inputs).logits

    close(found, expected)


def test_gpt2_step_by_step_through_both_caches(gpt2):
    theirs, ours = gpt2
    inputs, past = ids(3, 7), None
    state = ours.decoder.start(ours.encode(inputs), 7)
    with torch.no_grad():
        for tokens in inputs.unbind(1):
            found, state = ours.decoder.step(state, tokens)
            expected = theirs(input_ids=tokens[:, None], past_key_values=past, use_cache=True)
            past = expected.past_key_values
            close(found, expected.logits[:, -1])
