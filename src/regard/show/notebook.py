"""The three calls that notebooks know from BertViz (Vig 2019), with our page behind them.

>>> from regard import head_view, model_view     # was: from bertviz import head_view, model_view
>>> head_view(attention, tokens)                 # weights of any model, (1, heads, query, key) a layer
>>> head_view("runs/first", "two dogs run")      # a model of ours, or what regard.trace gives

The page needs no network, and shows decoding, cross-attention and long inputs like everything else.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast, final, get_args

import numpy as np
from torch import nn

from regard.answer.predictor import Predictor
from regard.errors import UsageError, kind_of
from regard.interop.bring import Brought, trace
from regard.interop.tokens import SECOND
from regard.question import Question
from regard.run.find import is_brought
from regard.run.folder import Run
from regard.show.page import Theme, View, framed, page
from regard.tasks import Prediction
from regard.tasks.axis import Axis, Tokens
from regard.traces.head_names import Kind
from regard.traces.site import TracedSite
from regard.traces.trace import Trace

Layers = Sequence[Any]  # one array or tensor a layer, (1, heads, query, key)
ASKED = (Predictor, Run, Brought, str, Path)  # what stands for a model


@final
@dataclass(frozen=True)
class Page:
    """A page ready to be shown by a notebook, or written to a file: `page.save("a.html")`."""

    data: str

    def save(self, path: str | Path) -> None:
        """Write the page to a file that any browser opens, without a network."""
        Path(path).write_text(self.data, "utf-8")

    def __repr__(self) -> str:
        return (
            f"Page({len(self.data) // 1000} kB; a notebook shows it, page.save('a.html') keeps it)"
        )

    def _repr_html_(self) -> str:
        return framed(self.data)


def head_view(  # noqa: PLR0913, PLR0917
    attention: Trace | Predictor | Run | str | Path | Layers | None = None,
    tokens: Sequence[str] | str | None = None,
    sentence_b_start: int | None = None,
    prettify_tokens: bool = True,
    layer: int | None = None,
    heads: Sequence[int] | None = None,
    encoder_attention: Layers | None = None,
    decoder_attention: Layers | None = None,
    cross_attention: Layers | None = None,
    encoder_tokens: Sequence[str] | None = None,
    decoder_tokens: Sequence[str] | None = None,
    include_layers: Sequence[int] | None = None,
    html_action: str = "view",
) -> Page | None:
    """Lines from each token to those it looks at, one colour a head.

    `head_view(model, text)` looks into a model of ours; `head_view(attention, tokens)` shows the weights of
    any model, (1, heads, query, key) a layer. One of `heads` is what the page begins with; of several, the
    page has those alone, numbered from 0. Of a pair of sentences each layer is there as a whole, and by its
    parts: A → A, B → B, A → B and B → A.
    """
    given = _Given(attention, tokens, sentence_b_start, prettify_tokens, include_layers)
    seen = given.seen(
        encoder_attention, decoder_attention, cross_attention, encoder_tokens, decoder_tokens
    )
    _require_heads(seen, heads, "heads")
    if heads is not None and len(heads) > 1:  # a page begins with one head, or with all that it has
        seen = _only(seen, heads)
    head = heads[0] if heads is not None and len(heads) == 1 else None
    return _shown(seen, "lines", layer, head, None, html_action)


def model_view(  # noqa: PLR0913, PLR0917
    attention: Trace | Predictor | Run | str | Path | Layers | None = None,
    tokens: Sequence[str] | str | None = None,
    sentence_b_start: int | None = None,
    prettify_tokens: bool = True,
    display_mode: str | None = None,
    encoder_attention: Layers | None = None,
    decoder_attention: Layers | None = None,
    cross_attention: Layers | None = None,
    encoder_tokens: Sequence[str] | None = None,
    decoder_tokens: Sequence[str] | None = None,
    include_layers: Sequence[int] | None = None,
    include_heads: Sequence[int] | None = None,
    html_action: str = "view",
) -> Page | None:
    """Every head of every layer at a glance, of `(model, text)` or of `(attention, tokens)`."""
    given = _Given(
        attention, tokens, sentence_b_start, prettify_tokens, include_layers, include_heads
    )
    seen = given.seen(
        encoder_attention, decoder_attention, cross_attention, encoder_tokens, decoder_tokens
    )
    return _shown(seen, "model", None, None, display_mode, html_action)


def neuron_view(
    model: object,
    model_type: str | None = None,
    tokenizer: object = None,
    sentence_a: str | None = None,
    sentence_b: str | None = None,
    display_mode: str | None = None,
    layer: int | None = None,
    head: int | None = None,
    html_action: str = "view",
) -> Page | None:
    """How a score comes about, neuron by neuron, for any score and any model.

    `neuron_view(model, text)` is enough for a run, which knows its own kind and tokenizer; for a model of
    Hugging Face's as BertViz had it: `neuron_view(model, "bert", tokenizer, sentence_a, sentence_b)`.
    """
    # The second argument of BertViz is the kind of the model, which nobody need say here.
    text = sentence_a or model_type
    if isinstance(model, nn.Module) and tokenizer is not None:
        seen = trace(model, tokenizer, sentence_a, sentence_b, most=0)
    elif sentence_b is not None and not _is_brought(model):
        raise UsageError(
            "one text at a time is looked at",
            where="sentence_b",
            remedy="leave sentence_b out, and call it once for each text",
        )
    elif not isinstance(model, (Trace, *ASKED)):
        raise UsageError(
            f"{kind_of(model)} does not show its neurons",
            where="model",
            remedy="give a run folder, what regard.load gives, a trace, or a model and its tokenizer",
        )
    else:
        seen = model if isinstance(model, Trace) else _asked(model, text, sentence_b)
    if not any(site.width for site in seen.sites):
        raise UsageError(
            "of this model the weights are known, and no queries and keys",
            where="model",
            remedy="look at its weights: head_view or model_view",
        )
    return _shown(seen, "neurons", layer, head, display_mode, html_action)


# BertViz's notebooks call `neuron_view.show(model, model_type, tokenizer, sentence_a, sentence_b)`.
neuron_view.show = neuron_view  # type: ignore[attr-defined]


def _is_brought(model: object) -> bool:
    return isinstance(model, Brought) or (isinstance(model, str | Path) and is_brought(model))


@final
@dataclass(frozen=True, eq=False)
class _Given:
    """Weights of any model, as BertViz takes them."""

    attention: Trace | Predictor | Run | str | Path | Layers | None
    tokens: Sequence[str] | str | None
    second: int | None
    prettify: bool
    layers: Sequence[int] | None
    heads: Sequence[int] | None = None

    def seen(
        self,
        encoder: Layers | None,
        decoder: Layers | None,
        cross: Layers | None,
        encoder_tokens: Sequence[str] | None,
        decoder_tokens: Sequence[str] | None,
    ) -> Trace:
        """The same as a trace."""
        if isinstance(self.attention, Trace):
            return self.attention
        if isinstance(self.attention, ASKED):
            return _asked(self.attention, self.tokens)
        is_split = any(given is not None for given in (encoder, decoder, cross))
        if is_split == (self.attention is not None):
            raise UsageError(
                "attention is of one model, or of its encoder and decoder, not both"
                if is_split
                else "there is no attention to show",
                where="attention",
                remedy="give attention, or encoder_attention, decoder_attention and cross_attention",
            )
        axes: dict[str, Axis] = {}
        sides: list[tuple[Layers | None, Kind, str, str]] = [
            (encoder, "encoder-self", "source", "source"),
            (decoder, "decoder-self", "target", "target"),
            (cross, "cross", "target", "source"),
        ]
        if is_split:
            both = {"source": encoder_tokens, "target": decoder_tokens}
            axes = {name: self._axis(one) for name, one in both.items() if one is not None}
        else:
            axes = {"source": self._axis(self.tokens or (), self.second)}
            sides = [(self.attention, "encoder-self", "source", "source")]
        sites = tuple(
            site
            for given, kind, queries, keys in sides
            if given is not None
            for site in self._sites(given, kind, (queries, keys), axes)
        )
        answer = Prediction(_text(axes.get("target")))
        return Trace("", "", Question(_text(axes.get("source"))), answer, (), axes, sites)

    def _axis(self, tokens: Sequence[str], second: int | None = None) -> Axis:
        names = [_pretty(str(token)) if self.prettify else str(token) for token in tokens]
        if second is not None and 0 < second < len(names):
            own = names[second]  # where the second sentence begins
            names[second] = f"▁{SECOND}{own[1:]}" if own.startswith("▁") else SECOND + own
        return Tokens.whole(names)

    def _sites(
        self, given: Layers, kind: Kind, sides: tuple[str, str], axes: dict[str, Axis]
    ) -> Iterator[TracedSite]:
        if not isinstance(given, Sequence):
            raise UsageError(
                f"{kind_of(given)} is neither a model of ours nor the attention of one",
                where="attention",
                remedy="give a run and a text, or an array a layer, (1, heads, query, key), and the tokens",
            )
        if len(given) == 0:
            raise UsageError(
                "the model gave no attention",
                where=f"{kind} attention",
                remedy='load it with attn_implementation="eager", and ask for output_attentions=True',
            )
        for layer in range(len(given)) if self.layers is None else self.layers:
            if not 0 <= layer < len(given):
                raise UsageError(
                    f"no layer {layer}", where="include_layers", remedy=f"there are {len(given)}"
                )
            weights = _array(given[layer], kind)
            if self.heads is not None:
                _require_head(self.heads, len(weights), "include_heads")
                weights = weights[list(self.heads)]
            for side in sides:
                if len(axes.get(side, ())) == 0:
                    own = {"source": "encoder_tokens", "target": "decoder_tokens"}[side]
                    where = "tokens" if self.attention is not None else own
                    raise UsageError(f"{kind} attention needs its tokens", where, f"give `{where}`")
            sizes = tuple(len(axes[side]) for side in sides)
            if weights.shape[1:] != sizes:
                raise UsageError(
                    f"a layer has {weights.shape[1]} x {weights.shape[2]} weights for "
                    f"{sizes[0]} x {sizes[1]} tokens",
                    where=f"{kind} attention, layer {layer}",
                    remedy="give the tokens that the model read, special ones too",
                )
            yield _bare(weights, kind, layer, sides)


def _require_heads(seen: Trace, heads: Sequence[int] | None, where: str) -> None:
    if heads is not None:
        _require_head(heads, min((site.heads for site in seen.sites), default=0), where)


def _require_head(heads: Sequence[int], count: int, where: str) -> None:
    if wrong := [head for head in heads if not 0 <= head < count]:
        raise UsageError(f"no head {wrong[0]}", where=where, remedy=f"there are {count}, from 0")
    if len(heads) == 0:
        raise UsageError("no head is chosen", where=where, remedy="leave it out for all of them")


def _only(seen: Trace, heads: Sequence[int]) -> Trace:
    """The same with these heads alone."""
    chosen = list(heads)
    sites = []
    for site in seen.sites:
        changes: dict[str, Any] = {name: own[chosen] for name, own in site.arrays().items()}
        sites.append(replace(site, **changes))
    return replace(seen, sites=tuple(sites))


def _asked(model: Any, text: object, second: str | None = None) -> Trace:
    """A model answers a text, or two."""
    if not isinstance(text, str):
        raise UsageError(
            "there is no text to look at" if text is None else f"{kind_of(text)} is no text",
            where="text",
            remedy='give the text, as in head_view(model, "two dogs run")',
        )
    return trace(model, text) if second is None else trace(model, text, second=second)


def _pretty(token: str) -> str:
    """A piece without the marks of byte-level and of the first byte-pair vocabularies."""
    return token.replace("Ġ", "▁").replace("</w>", "")


def _text(axis: Axis | None) -> str:
    """Tokens as a line to read."""
    names = axis.pieces if axis is not None else ()
    marked = any(name.startswith("▁") for name in names)
    return ("" if marked else " ").join(names).replace("▁", " ").strip()


def _array(given: Any, kind: str) -> np.ndarray:
    array = given.detach().float().cpu().numpy() if hasattr(given, "detach") else np.array(given)
    if array.ndim != 4 or array.shape[0] != 1:
        raise UsageError(
            f"a layer's attention is (1, heads, query, key), not {array.shape}",
            where=f"{kind} attention",
            remedy="give one sentence at a time, and all its heads",
        )
    return array[0].astype(np.float32)


def _bare(weights: np.ndarray, kind: Kind, layer: int, sides: tuple[str, str]) -> TracedSite:
    """A site of which only the weights are known; a score is then known but for a constant a row."""
    heads, queries, keys = weights.shape
    with np.errstate(divide="ignore"):
        scores = np.log(weights)
    nothing = [np.zeros((heads, length, 0), np.float32) for length in (queries, keys, keys)]
    path = f"{kind}.{layer}"
    return TracedSite(
        path, kind, layer, *sides, "dot", "softmax", "product", 1.0, weights, scores, *nothing
    )


def _shown(
    seen: Trace,
    view: View,
    layer: int | None,
    head: int | None,
    theme: str | None,
    action: str,
) -> Page | None:
    if theme not in (None, *get_args(Theme)):
        raise UsageError(f"no display mode '{theme}'", where="display_mode", remedy="light or dark")
    if action not in ("view", "return"):
        raise UsageError(f"no action '{action}'", where="html_action", remedy="view or return")
    whole = seen.site().path if layer is None and seen.sites else _of_layer(seen, layer)
    parted = with_parts(seen)
    made = Page(
        page(
            parted,
            view=view,
            site=whole if parted is not seen else _of_layer(seen, layer),
            head=head,
            theme=cast("Theme | None", theme),
        )
    )
    if action == "return":
        return made
    notebook = sys.modules.get("IPython")
    if notebook is None:
        return made  # which says, where there is no notebook, how it is kept
    notebook.display.display(made)
    return None


def with_parts(seen: Trace) -> Trace:
    """Of a pair of sentences, each self-attention once more by its parts: A → A, B → B, A → B, B → A.

    They are sites of their own, with the weights as they are: a row of a part need not sum to 1.
    """
    axes, sites = dict(seen.axes), list(seen.sites)
    for name, axis in seen.axes.items():
        start = _second(axis)
        whole = [site for site in seen.sites if site.queries == site.keys == name]
        if start is None or not isinstance(axis, Tokens) or not whole:
            continue
        sides = {"A": slice(0, start), "B": slice(start, len(axis))}
        for own, other in (("A", "A"), ("B", "B"), ("A", "B"), ("B", "A")):
            queries, keys = f"{name} {own}", f"{own} → {other}"
            axes[queries], axes[keys] = _cut(axis, sides[own]), _cut(axis, sides[other])
            sites += [_part(site, sides[own], sides[other], queries, keys) for site in whole]
    return seen if len(sites) == len(seen.sites) else replace(seen, axes=axes, sites=tuple(sites))


def _second(axis: Axis) -> int | None:
    """Where a second sentence begins, if one does."""
    marked = (
        n for n, piece in enumerate(axis.pieces) if piece.removeprefix("▁").startswith(SECOND)
    )
    return next(marked, None)


def _cut(axis: Tokens, part: slice) -> Tokens:
    ids = axis.word_ids[part]
    return Tokens(
        axis.pieces[part],
        tuple(number - ids[0] for number in ids),
        axis.words[ids[0] : ids[-1] + 1],
    )


def _part(site: TracedSite, rows: slice, columns: slice, queries: str, keys: str) -> TracedSite:
    """The queries of one sentence and the keys of one, of everything that a site has."""

    def both(own: np.ndarray) -> np.ndarray:
        return own[:, rows, columns]

    return replace(
        site,
        path=f"{site.path}.{keys}",
        queries=queries,
        keys=keys,
        weights=both(site.weights),
        scores=both(site.scores),
        query=site.query[:, rows],
        key=site.key[:, columns],
        value=site.value[:, columns],
        bias=None if site.bias is None else both(site.bias),
        noticed=None if site.noticed is None else both(site.noticed),
    )


def _of_layer(seen: Trace, layer: int | None) -> str | None:
    """The site of a layer that faces the answer, if there is one."""
    if layer is None:
        return None
    sites = [site for site in seen.sites if site.layer == layer]
    if not sites:
        raise UsageError(
            f"no layer {layer}",
            where="layer",
            remedy=f"choose one of: {', '.join(sorted({str(site.layer) for site in seen.sites}))}",
        )
    facing = [site for site in sites if site.kind in ("cross", "rnn", "pointer", "pool")]
    return (facing or sites)[-1].path
