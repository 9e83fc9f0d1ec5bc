"""What both model families are built from: recurrent cells, norms, feed-forward, embeddings, blocks."""

from regard.layers.block import DecoderBlock, EncoderBlock, Stack
from regard.layers.connected import Connected
from regard.layers.convolution import Convolution
from regard.layers.front_end import Embedded, Embedding, Frames, FrontEnd, Patches, Source, narrowed
from regard.layers.recurrent import Cell, Elman, Gru, Lstm, Lstmn, Recurrent, make_cell
from regard.layers.several import Memories, SeveralHeads
from regard.layers.sublayer import FeedForward, LayerNorm, Residual
from regard.layers.subsampling import Subsampling
from regard.settings.architecture import Activation, CellName, NormForm, NormOrder

__all__ = [
    "Activation",
    "Cell",
    "CellName",
    "Connected",
    "Convolution",
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
    "Lstmn",
    "Memories",
    "NormForm",
    "NormOrder",
    "Patches",
    "Recurrent",
    "Residual",
    "SeveralHeads",
    "Source",
    "Stack",
    "Subsampling",
    "make_cell",
    "narrowed",
]
