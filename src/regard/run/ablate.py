"""One trick taken away at a time (L103), and the same model again by other seeds.

An ablation asks what a part is worth: the model as it is, and beside it the same model without that part. One
run says little, since chance decides where training begins; so each is trained by several seeds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from regard.errors import UsageError
from regard.run.resolve import Resolve, Variant
from regard.run.settings import RunSettings
from regard.settings.architecture import StackSettings, TransformerSettings

BASE = "base"
WINDOW = 2  # positions to each side, for the fully connected layer in the place of self-attention

# What each trick is set to when it is taken away.
TRICKS: dict[str, dict[str, Any]] = {
    "residual": {"residual": False},
    "norm": {"norm": "none"},
    "scale": {"score": "dot"},
    "feedforward": {"feedforward": 0},
    "positions": {"position": "none"},
    "attention": {"mixing": "window", "reach_size": WINDOW},
}


def ablations(presets: Sequence[str], vary: Sequence[str], resolve: Resolve) -> list[Variant]:
    """The model as it is, then without each of the tricks that it has."""
    if len(presets) > 1 or vary:
        raise UsageError(
            "an ablation takes parts away from one model",
            where="ablate",
            remedy="name one preset, and leave out what is varied",
        )
    name = presets[0] if presets else None
    whole = resolve(name, [])
    stacks = dict(_stacks(whole))
    if not stacks:
        raise UsageError(
            "this model has no Transformer blocks whose parts could be taken away",
            where="ablate",
            remedy="choose a preset such as vaswani2017-tiny, or vary a setting of this one",
        )
    variants = [Variant(BASE, whole)]
    for trick, values in TRICKS.items():
        changes = [
            f"{path}.{key}={str(value).lower()}"
            for path, stack in stacks.items()
            if _has(stack, trick)
            for key, value in values.items()
        ]
        if changes:
            variants.append(Variant(f"without-{trick}", resolve(name, changes)))
    return variants


def _stacks(settings: RunSettings) -> Iterator[tuple[str, StackSettings]]:
    """The Transformer stacks by where their settings are."""
    model = settings.model
    sides = {"model.encoder": model.encoder, "model.reader": model.reader}
    sides |= {f"model.encoders.{name}": one for name, one in model.encoders.items()}
    return ((path, one) for path, one in sides.items() if isinstance(one, StackSettings))


def _has(stack: StackSettings, trick: str) -> bool:
    """Whether there is something to take away."""
    match trick:
        case "residual":
            return stack.residual
        case "norm":
            return stack.norm != "none"
        case "scale":
            return stack.score == "scaled-dot"
        case "feedforward":
            return stack.feedforward > 0
        case "positions":
            return stack.position != "none"
        case _:
            # A fully connected layer stands in for it in an encoder alone, with positions at the input.
            return (
                isinstance(stack, TransformerSettings)
                and stack.mixing == "attention"
                and stack.reach == "full"
                and stack.position_at == "input"
                and stack.position not in ("rotary", "alibi")
            )


def by_seeds(variants: Sequence[Variant], seeds: int) -> list[tuple[Variant, list[Variant]]]:
    """Each model with as many runs of it, whose seeds follow each other: `base` and `base-seed-1`, .."""
    return [
        (
            variant,
            [
                Variant(
                    f"{variant.name}-seed-{seed}",
                    variant.settings.model_copy(update={"seed": seed}),
                )
                for seed in range(variant.settings.seed, variant.settings.seed + seeds)
            ],
        )
        for variant in variants
    ]
