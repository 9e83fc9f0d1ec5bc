"""Strings <-> ids: vocabularies learned from lines, and what each piece and word looks like to a person."""

from regard.text.codec import Codec, Encoding
from regard.text.labels import Labels
from regard.text.settings import TextSettings
from regard.text.vocabulary import BEGIN, END, PAD, UNKNOWN

__all__ = ["BEGIN", "END", "PAD", "UNKNOWN", "Codec", "Encoding", "Labels", "TextSettings"]
