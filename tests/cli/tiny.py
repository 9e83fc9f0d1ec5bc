"""Settings of a model so small that training it costs nothing."""

# Two steps of a model that fits on a stamp: what a command does, not what a model learns.
TINY = [
    f"--set={change}"
    for change in (
        "model.encoder.width=8",
        "model.reader.width=8",
        "data.examples=64",
        "batch.tokens=256",
        "batch.max_length=64",
        "train.steps=2",
        "train.evaluate_every=2",
        "train.evaluate_examples=3",
        "train.checkpoint_every=2",
        "train.workers=0",
        "decode.beam=1",
        "decode.max_length=5",
    )
]
