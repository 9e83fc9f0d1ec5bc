"""Train attention models on your own text, and see where they look.

    >>> model = regard.train(toy="reverse")          # or regard.train("mine.en", "mine.de")
    >>> model = regard.load("runs/reverse-translate")
    >>> model.translate("a b c")
    >>> regard.trace(model, "a b c")                 # where it looked; a notebook draws it

This page documents the front door. Everything else is an attribute of `regard` too, and explains itself:
`help(regard.Heads)`.

Attention       attend align Attention Heads Memory Aligned watch
Scores          Dot ScaledDot General Additive Covered LocationAware Cosine Location FeatureMap
Normalisers     Softmax Sparsemax Entmax15 Relu Sigmoid Hard Gumbel Proportional
Masks           Causal Padding Window Strided GlobalWindow Given, and their `&`
Positions       Sinusoidal sinusoid Learned Rotary Alibi
Models          Model ModelSettings Sizes build count_parameters
Questions       Question Image Sound
Search          greedy beam sample DecodeSettings Hypothesis
Lectures        worked

`import regard` is instant: torch is loaded with the first name that needs it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from regard.errors import nearest

if TYPE_CHECKING:
    from regard import worked as worked
    from regard.answer.predictor import Predictor as Predictor
    from regard.api import load as load
    from regard.api import look as look
    from regard.api import train as train
    from regard.attention import align as align
    from regard.attention import attend as attend
    from regard.decode import DecodeSettings as DecodeSettings
    from regard.decode import Hypothesis as Hypothesis
    from regard.decode import beam as beam
    from regard.decode import greedy as greedy
    from regard.decode import sample as sample
    from regard.interop.bring import trace as trace
    from regard.interop.recorder import watch as watch
    from regard.models import Model as Model
    from regard.models import ModelSettings as ModelSettings
    from regard.models import Sizes as Sizes
    from regard.models import build as build
    from regard.models import count_parameters as count_parameters
    from regard.question import Image as Image
    from regard.question import Question as Question
    from regard.question import Sound as Sound
    from regard.run.folder import Run as Run
    from regard.seams import reference as reference
    from regard.show.notebook import head_view as head_view
    from regard.show.notebook import model_view as model_view
    from regard.show.notebook import neuron_view as neuron_view
    from regard.tasks import Prediction as Prediction
    from regard.traces.trace import Trace as Trace
    from regard.training import Listener as Listener

__version__ = "0.1.0"

_HOMES = {
    "api": "load look train",
    "attention": """
        Additive Alibi Aligned Attention Causal Cosine Covered Dot Entmax15 FeatureMap General Given
        GlobalWindow Gumbel Hard Heads Learned Location LocationAware Memory Padding Proportional Relu Rotary
        ScaledDot Sigmoid Sinusoidal Softmax Sparsemax Strided Window align attend sinusoid
    """,
    "decode": "DecodeSettings Hypothesis beam greedy sample",
    "errors": "RegardError",
    "traces.trace": "Trace",
    "interop.bring": "trace",
    "interop.recorder": "watch",
    "question": "Image Question Sound",
    "models": "Model ModelSettings Sizes build count_parameters",
    "run.folder": "Run",
    "seams": "reference",
    "answer.predictor": "Predictor",
    "show.notebook": "head_view model_view neuron_view",
    "tasks": "Prediction",
    "training": "Listener",
}
_HOME_OF = {name: room for room, names in _HOMES.items() for name in names.split()}
_ROOMS = ("worked",)

# The front door, which `help(regard)` documents and a star imports. The help of one torch module is 50 kB
# long, so classes that are modules are found by their names alone.
__all__ = [
    "Listener",
    "Prediction",
    "Predictor",
    "Question",
    "RegardError",
    "Run",
    "Trace",
    "align",
    "attend",
    "head_view",
    "load",
    "look",
    "model_view",
    "neuron_view",
    "trace",
    "train",
    "watch",
    "worked",
]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"regard.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"regard has no '{name}': {nearest(name, _HOME_OF)}")
    return getattr(import_module(f"regard.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*_HOME_OF, *_ROOMS, "__version__"])
