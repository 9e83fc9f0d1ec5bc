"""What both model families are built from: recurrent cells, norms, feed-forward, embeddings, blocks."""

from regard.layers.block import DecoderBlock, EncoderBlock
from regard.layers.embedding import Embedding, Frames, narrowed
from regard.layers.feedforward import FeedForward
from regard.layers.front_end import Embedded, FrontEnd, Patches, Source
from regard.layers.norm import LayerNorm, Residual
from regard.layers.recurrent import Cell, Elman, Gru, Lstm, Recurrent, make_cell
from regard.layers.several import Memories, SeveralHeads
from regard.layers.stack import Stack
from regard.settings.names import Activation, CellName, NormForm, NormOrder

__all__ = [
    "Activation",
    "Cell",
    "CellName",
    "DecoderBlock",
    "Elman",
    "Embedded",
    "Embedding",
    "EncoderBlock",
    "FeedForward",
    "Frames",
    "FrontEnd",
    "Gru",
    "LayerNorm",
    "Lstm",
    "Memories",
    "NormForm",
    "NormOrder",
    "Patches",
    "Recurrent",
    "Residual",
    "SeveralHeads",
    "Source",
    "Stack",
    "make_cell",
    "narrowed",
]
