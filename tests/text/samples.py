"""A small corpus in several scripts, and how to learn a codec from it."""

from regard.text import Codec, TextSettings

LINES = (
    "The quick brown fox doesn't jump over the lazy dog.",
    "the dog's owner paid 1,000.50 euros at 10:30 ... really?",
    "Der schnelle Fuchs überspringt die Straße, natürlich!",
    "der Fuchs und die Füchse überspringen den Hund",
    "می‌خواهم سلام کنم و می‌خواهم بروم",
    "צה״ל שלום עולם, שלום",
    "日本語です。これは日本の言葉です。",
    "👩‍🚀 and 👩‍🚀 went to the 🇩🇪 moon",
    "naïve café, naïve re\u0301sume\u0301",
)
KINDS = ("bpe", "unigram", "byte", "char", "word")
LOSSLESS = ("bpe", "unigram", "byte")


def learned(kind: str, vocabulary: int = 400, **more) -> Codec:
    return Codec.train(LINES, TextSettings(kind=kind, vocabulary=vocabulary, **more))
