"""One step of a recurrent decoder with attention, from the start sign to the first word (L11-L13)."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from regard.attention import watch
from regard.layers import Embedding
from regard.models import (
    Encoded,
    Model,
    ModelSettings,
    RnnEncoderSettings,
    RnnReaderSettings,
    Sizes,
    build,
)
from regard.worked.likeness import TABLES, Words
from regard.worked.six_words import VOCABULARY
from regard.worked.worked_example import Slip, Step, Worked, matrix, plain, seeded

SLIPS = (
    Slip(
        "L13",
        "concatenated",
        "a_4 x H_4",
        "[h_4; c_4]",
        "To concatenate is to lay one behind the other; the sign for a product says something else.",
    ),
)


def decoder_step(words: Words = TABLES["four cells (L4)"], seed: int = 1) -> Worked:
    """Encode the words, then decode one: hidden state, scores, context, both together, word.

    The model is the library's own, of Elman cells, with weights drawn and not trained, so that the word it
    says means nothing yet; every number on the way is real.
    """
    vectors = matrix("words", list(words.values()))
    model = tiny_model(vectors, seed)
    decoder, count = model.decoder, len(vectors)
    with torch.no_grad(), watch(model) as seen:
        encoded: Encoded = model.encode(torch.arange(count)[None])
        before = decoder.start(encoded, 1)
        logits, after = decoder.step(before, torch.tensor([decoder.begin]))
    ((aligned,),) = seen.values()
    hidden, context = aligned.query[0, 0, 0], aligned.context[0, 0, 0]
    shares = logits[0].softmax(-1)
    labels, new = tuple(words), count + 1
    states = tuple(f"h_{n}" for n in range(1, new))
    return Worked(
        formula="h = cell(word, h');  c = sum_i softmax(h . h_i) h_i;  word = softmax(V tanh(W [h; c]))",
        given=(Step("words", "x_i", plain(vectors), rows=labels),),
        steps=(
            Step(
                "encoder states", "h_i = tanh(W x_i + U h_{i-1})", plain(encoded.states[0]), states
            ),
            Step(
                "first hidden state",
                f"tanh(B h_{count}): all that a decoder without attention gets (L11)",
                plain(before.cells[0][0][0]),
            ),
            Step("new hidden state", f"h_{new}, from the start sign", plain(hidden)),
            Step("scores", f"h_{new} . h_i", plain(aligned.scores[0, 0, 0]), columns=labels),
            Step("weights", "softmax", plain(aligned.weights[0, 0, 0]), columns=labels),
            Step("context", f"c_{new} = sum_i alpha_i h_i", plain(context)),
            Step("concatenated", f"[h_{new}; c_{new}]", plain(torch.cat([hidden, context]))),
            Step("feed-forward", f"tanh(W [h_{new}; c_{new}] + b)", plain(after.fed[0])),
            Step("logits", "one score a word", plain(logits[0]), columns=VOCABULARY),
            Step("probabilities", "softmax", plain(shares), columns=VOCABULARY),
        ),
        result=Step("word", "the highest cell", VOCABULARY[int(shares.argmax())]),
        slips=SLIPS,
    )


def tiny_model(vectors: Float[Tensor, "words width"], seed: int) -> Model:
    """An encoder and a decoder as wide as the words, whose source embedding is the words themselves."""
    width, end = vectors.shape[1], VOCABULARY.index("<eos>")
    settings = ModelSettings(
        encoder=RnnEncoderSettings(cell="elman", width=width, bidirectional=False, dropout=0.0),
        reader=RnnReaderSettings(cell="elman", width=width, score="dot", tied=False, dropout=0.0),
    )
    sizes = Sizes(source=len(vectors), target=len(VOCABULARY), begin=end, end=end)
    with seeded(seed):
        model = build(settings, sizes).double().eval()
    assert model.encoder is not None
    embedding = model.encoder.embedding
    assert isinstance(embedding, Embedding)
    with torch.no_grad():
        embedding.table.weight.copy_(vectors / embedding.scale)
    return model
