"""Decoding on one GPU: this project's recorded steps beside Hugging Face's MarianMT of the same size.

    python bench/decode.py --device cuda [--data test.en] [--run runs/demo] [--out decode.json]

Transformer base (6 + 6 layers, width 512, 8 heads, 2,048 inside, vocabulary 32,768), random weights, bf16, 64
forced symbols from sources of 32. Everything is measured in one process; the floor is what a step must read
from memory, at the copy rate measured here. A part that fails says so and leaves the others alone.
"""

from __future__ import annotations

import argparse
import json
import signal
import statistics
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from regard.accelerate.cuda_graph.search_state import packs
from regard.accelerate.plain import is_only_read, is_plain, written
from regard.accelerate.stack import Straight
from regard.decode import SEARCH, DecodeSettings, search
from regard.measure import Seconds, timed
from regard.models import (
    Model,
    ModelSettings,
    Sizes,
    TransformerReaderSettings,
    TransformerSettings,
    build,
)
from regard.seams import using

WIDTH, HEADS, LAYERS, INNER, VOCABULARY = 512, 8, 6, 2048, 32768
SOURCE, STEPS = 32, 64
CASES = {"greedy b1": (1, 1), "greedy b64": (64, 1), "beam 5 b64": (64, 5), "beam 5 b1": (1, 5)}
TARGETS = {"greedy b1": 0.25, "greedy b64": 0.68, "beam 5 b64": 0.95}  # ms a step

RIVALS = ("greedy b64", "beam 5 b64", "greedy b1", "beam 5 b1")  # the ones that matter most first

FOUND: dict[str, Any] = {"parts": {}, "failed": {}}


@contextmanager
def part(name: str, options: argparse.Namespace, seconds: int) -> Iterator[dict[str, Any]]:
    """One part of the whole; it may fail or take too long without harm to the others."""
    seconds = max(1, min(seconds, int(options.end - time.perf_counter())))

    def late(*_: object) -> None:
        raise TimeoutError(f"over {seconds} s")

    signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    begun, figures = time.perf_counter(), {}
    try:
        yield figures
    except Exception as fault:
        FOUND["failed"][name] = traceback.format_exc()
        print(f"{name}: FAILED {type(fault).__name__}: {str(fault)[:300]}", flush=True)
    finally:
        signal.alarm(0)
        figures["seconds spent"] = round(time.perf_counter() - begun, 1)
        FOUND["parts"][name] = figures
        if options.out is not None:
            options.out.write_text(json.dumps(FOUND, indent=1))


def clock(work: Callable[[], object], rounds: int) -> float:
    """The median wall time of a call, the GPU's work included."""
    times = []
    for _ in range(rounds):
        torch.cuda.synchronize()
        start = time.perf_counter()
        work()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def copy_rate() -> float:
    """Bytes a second of a large copy, read and written."""
    source = torch.empty(2**30, dtype=torch.int8, device="cuda").random_(0, 100)
    target = torch.empty_like(source)
    target.copy_(source)
    return 2 * source.numel() / clock(lambda: target.copy_(source), 10)


def floor(batch: int, slots: int) -> float:
    """Bytes that the middle step must move: weights once, keys and values of the past and of the source."""
    blocks = LAYERS * (4 * WIDTH**2 + 2 * WIDTH**2 + 2 * WIDTH * INNER)
    past = batch * slots * (STEPS // 2) * WIDTH * 2 * LAYERS
    memory = batch * SOURCE * WIDTH * 2 * LAYERS
    return 2.0 * (blocks + WIDTH * VOCABULARY + past + memory)


def our_model() -> Model:
    sizes = {"width": WIDTH, "heads": HEADS, "layers": LAYERS, "feedforward": INNER}
    settings = ModelSettings(
        encoder=TransformerSettings(**sizes), reader=TransformerReaderSettings(**sizes)
    )
    torch.manual_seed(1)
    model = build(settings, Sizes(VOCABULARY, VOCABULARY, shared=True))
    return model.to("cuda", torch.bfloat16).eval()


def ids(batch: int, length: int = SOURCE) -> torch.Tensor:
    return torch.randint(4, VOCABULARY, (batch, length), device="cuda")


def forced(slots: int, steps: int = STEPS) -> DecodeSettings:
    return DecodeSettings(beam=slots, min_length=steps, max_length=steps)


@torch.inference_mode()
def ours(figures: dict[str, Any], model: Model, batch: int, slots: int) -> None:
    source, settings = ids(batch), forced(slots)

    def work() -> object:
        return search(model.decoder, model.encode(source), settings)

    start = time.perf_counter()
    work()
    figures["first call s"] = round(time.perf_counter() - start, 2)
    work()
    seconds = clock(work, 7)
    figures["tokens/s"] = round(batch * STEPS / seconds)
    figures["ms a step"] = round(seconds / STEPS * 1e3, 4)
    session = _session(model, batch, slots)
    recording = session.recording
    assert recording is not None, "the step was never recorded"

    def replays() -> None:
        rewind(session)
        for _ in range(20):
            recording.replay()

    replays()
    figures["ms a step, GPU alone"] = round(clock(replays, 7) / 20 * 1e3, 4)
    encoded = model.encode(source)
    figures["ms encode"] = round(clock(lambda: model.encode(source), 5) * 1e3, 3)
    figures["ms search"] = round(
        clock(lambda: search(model.decoder, encoded, settings), 5) * 1e3, 3
    )


@torch.inference_mode()
def host() -> None:
    """What a processor does for one sentence before a GPU has its kernels: base depth, tiny widths."""
    sizes = {"width": 32, "heads": 2, "layers": LAYERS, "feedforward": 32}
    settings = ModelSettings(
        encoder=TransformerSettings(**sizes), reader=TransformerReaderSettings(**sizes)
    )
    torch.set_num_threads(1)
    model = build(settings, Sizes(100, 100, shared=True)).eval()
    encoder, decoder = model.encoder, model.decoder
    states, straight = encoder.embed(torch.randint(4, 100, (1, 8)), None).states, Straight()
    works: dict[str, Callable[[], object]] = {
        "the encoder's modules": lambda: encoder._read(states, None),
        "the encoder straight": lambda: straight.run(encoder, states, None, ()),
        "is the encoder plain?": lambda: is_plain(encoder) and is_only_read(encoder),
        "is the decoder plain?": lambda: packs(decoder),
        "has the decoder changed?": lambda: written(decoder),
    }
    for name, found in timed(works, "cpu", rounds=201, seconds=5.0).items():
        print(f"{name:26} {Seconds(found.median)}")


def rewind(session: Any) -> None:
    """Back to the middle of the search, every hypothesis alive."""
    session.state.position.fill_(STEPS // 2 - 10)
    session.state.is_open.fill_(True)
    session.state.totals.zero_()
    session.state.finished.fill_(-torch.inf)


def _session(model: Model, batch: int, slots: int) -> Any:
    (form,) = SEARCH.forms()
    sessions = form.engines[model.decoder].sessions
    return next(
        session
        for shape, session in reversed(sessions.items())
        if (shape.rows, shape.slots) == (batch, slots)
    )


@torch.inference_mode()
def profile(figures: dict[str, Any], model: Model, batch: int, slots: int) -> None:
    """Which kernels a recorded step spends its time in."""
    from torch.profiler import ProfilerActivity
    from torch.profiler import profile as profiler

    session = _session(model, batch, slots)
    rewind(session)
    steps = 10
    with profiler(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as seen:
        for _ in range(steps):
            session.recording.replay()
        torch.cuda.synchronize()
    rows = [
        (event.key, event.count / steps, event.self_device_time_total / steps)
        for event in seen.key_averages()
        if event.self_device_time_total > 0
    ]
    rows.sort(key=lambda row: -row[2])
    figures["kernels a step"] = round(sum(row[1] for row in rows), 1)
    figures["us a step in kernels"] = round(sum(row[2] for row in rows), 1)
    figures["top 25"] = [
        {"kernel": name[:140], "launches": round(count, 1), "us": round(us, 2)}
        for name, count, us in rows[:25]
    ]
    print(f"profile of a step, {batch} rows x {slots} slots: {figures['kernels a step']} kernels")
    for name, count, us in rows[:14]:
        print(f"  {us:8.2f} us {count:6.1f} x  {name[:90]}", flush=True)


def their_model() -> Any:
    from transformers import MarianConfig, MarianMTModel

    config = MarianConfig(
        vocab_size=VOCABULARY,
        d_model=WIDTH,
        encoder_layers=LAYERS,
        decoder_layers=LAYERS,
        encoder_attention_heads=HEADS,
        decoder_attention_heads=HEADS,
        encoder_ffn_dim=INNER,
        decoder_ffn_dim=INNER,
        max_position_embeddings=512,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        forced_eos_token_id=None,
        decoder_start_token_id=1,
        scale_embedding=True,
    )
    torch.manual_seed(1)
    return MarianMTModel(config).to("cuda", torch.bfloat16).eval()


def theirs(
    figures: dict[str, Any], model: Any, batch: int, slots: int, cache: str, rounds: int
) -> None:
    source = ids(batch)
    mask = torch.ones_like(source)

    def work() -> object:
        # A static cache is compiled, which tensors of inference mode may hinder; otherwise they help.
        with torch.inference_mode(cache != "static"), torch.no_grad():
            return model.generate(
                input_ids=source,
                attention_mask=mask,
                num_beams=slots,
                do_sample=False,
                min_new_tokens=STEPS,
                max_new_tokens=STEPS,
                cache_implementation=cache,
            )

    start = time.perf_counter()
    work()
    figures["first call s"] = round(time.perf_counter() - start, 2)
    if cache == "static":
        work()
    seconds = clock(work, rounds)
    figures["tokens/s"] = round(batch * STEPS / seconds)
    figures["ms a step"] = round(seconds / STEPS * 1e3, 4)


def lengths_of(path: Path) -> list[int]:
    """About how many subwords each line has: its words and a third, and the end."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return sorted(len(line.split()) * 4 // 3 + 1 for line in lines if line.strip())


@torch.inference_mode()
def corpus(
    figures: dict[str, Any], options: argparse.Namespace, ours: Model, theirs: Any, slots: int
) -> None:
    """A real file's lengths, sorted; each batch writes as many symbols as its longest source has."""
    lengths = lengths_of(options.data)
    figures["sentences"] = len(lengths)

    def batches(size: int) -> list[tuple[torch.Tensor, torch.Tensor, int]]:
        cut = [lengths[start : start + size] for start in range(0, len(lengths), size)]
        return [(ids(len(own), own[-1]), torch.tensor(own, device="cuda"), own[-1]) for own in cut]

    def run(size: int) -> int:
        count = 0
        for source, real, longest in ready[size]:
            search(ours.decoder, ours.encode(source, real), forced(slots, longest))
            count += len(source) * longest
        return count

    ready = {size: batches(size) for size in (64, 256)}
    for size in ready:
        start = time.perf_counter()
        count = run(size)
        torch.cuda.synchronize()
        figures[f"ours b{size} first pass s"] = round(time.perf_counter() - start, 2)
        seconds = clock(lambda size=size: run(size), 3)
        figures[f"ours b{size} tokens/s"] = round(count / seconds)
        figures[f"ours b{size} sentences/s"] = round(len(lengths) / seconds)
    print(json.dumps(figures), flush=True)

    def hugging() -> None:
        for source, real, longest in ready[64]:
            places = torch.arange(source.shape[1], device="cuda")
            theirs.generate(
                input_ids=source,
                attention_mask=(places < real.unsqueeze(1)).long(),
                num_beams=slots,
                do_sample=False,
                min_new_tokens=longest,
                max_new_tokens=longest,
            )

    seconds = clock(hugging, 1)
    figures["HF b64 sentences/s"] = round(len(lengths) / seconds)
    figures["ratio b64"] = round(figures["ours b64 sentences/s"] / figures["HF b64 sentences/s"], 2)


@torch.inference_mode()
def trained(figures: dict[str, Any], options: argparse.Namespace, beam: int) -> None:
    """A trained run on real text: the same answers as by the generic search, and how much sooner."""
    from regard.answer.predictor import Predictor

    lines = options.data.read_text(encoding="utf-8").splitlines()
    predictor = Predictor.load(options.run, "cuda", precision="bfloat16", batch_tokens=16384)
    answers = {}
    for name, forms in {"graph": SEARCH.forms(), "generic": ()}.items():
        with using(search=forms):
            start = time.perf_counter()
            answers[name] = predictor.translate(lines, beam=beam)
            figures[f"{name} first pass s"] = round(time.perf_counter() - start, 2)
            seconds = clock(lambda: predictor.translate(lines, beam=beam), 2)
            figures[f"{name} sentences/s"] = round(len(lines) / seconds)
    alike = sum(a == b for a, b in zip(answers["graph"], answers["generic"], strict=True))
    figures["answers alike"] = f"{alike} of {len(lines)}"
    figures["ratio"] = round(figures["graph sentences/s"] / figures["generic sentences/s"], 2)


def table(rate: float) -> None:
    """Ratios, and how near the floor."""
    parts = FOUND["parts"]
    print(
        f"\n{'':12} {'ours tok/s':>11} {'ms/step':>9} {'GPU ms':>8} {'floor ms':>9} {'% floor':>8}",
        end="",
    )
    print(f" {'HF dynamic':>11} {'HF static':>10} {'ratio':>7} {'target ms':>10}")
    for name, (batch, slots) in CASES.items():
        mine = parts.get(f"ours {name}", {})
        least = floor(batch, slots) / rate * 1e3
        rivals = [
            parts.get(f"HF {kind} {name}", {}).get("tokens/s") for kind in ("dynamic", "static")
        ]
        best = max((rival for rival in rivals if rival), default=None)
        speed, step = mine.get("tokens/s"), mine.get("ms a step")
        alone = mine.get("ms a step, GPU alone")
        ratio = f"{speed / best:.2f}x" if speed and best else "-"
        share = f"{100 * least / step:.0f}%" if step else "-"
        cells = [
            speed or "-",
            step or "-",
            alone or "-",
            f"{least:.3f}",
            share,
            *(r or "-" for r in rivals),
            ratio,
            TARGETS.get(name, "-"),
        ]
        widths = (11, 9, 8, 9, 8, 11, 10, 7, 10)
        print(
            f"{name:12} "
            + " ".join(f"{cell!s:>{width}}" for cell, width in zip(cells, widths, strict=True))
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--data", type=Path, help="raw source text, one sentence a line")
    parser.add_argument("--run", type=Path, help="a trained translation run, with --data")
    parser.add_argument("--out", type=Path, help="all figures as JSON")
    parser.add_argument("--mine", action="store_true", help="leave the peer out")
    parser.add_argument(
        "--theirs", action="store_true", help="the peer alone, which warms its compiler"
    )
    parser.add_argument("--seconds", type=float, default=120.0, help="after which nothing is begun")
    parser.add_argument("--host", action="store_true", help="one sentence's share of the processor")
    options = parser.parse_args()
    if options.host:
        host()
        return
    options.end = time.perf_counter() + options.seconds
    if not torch.cuda.is_available() or options.device != "cuda":
        print("bench/decode.py needs a GPU; bench/decode_cpu.py measures without one")
        return
    FOUND["machine"] = f"{torch.cuda.get_device_name()}, torch {torch.__version__}, bf16"
    print(FOUND["machine"], flush=True)
    rate = 4.3e12
    with part("copy", options, 30) as figures:
        rate = copy_rate()
        figures["TB/s"] = round(rate / 1e12, 2)
    model = None
    if not options.theirs:
        model = our_model()
        for name, (batch, slots) in CASES.items():
            with part(f"ours {name}", options, 60) as figures:
                ours(figures, model, batch, slots)
                print(f"ours {name}: {figures}", flush=True)
    rival = None
    if not options.mine:
        with part("HF model", options, 60):
            rival = their_model()
    for cache in ("dynamic", "static") if rival is not None else ():
        for name in RIVALS if cache == "dynamic" else RIVALS[:3]:
            with part(f"HF {cache} {name}", options, 45) as figures:
                theirs(figures, rival, *CASES[name], cache, 3)
                print(f"HF {cache} {name}: {figures}", flush=True)
    table(rate)
    if model is None:
        return
    for slots in (1, 5) if options.data is not None else ():
        with part(f"corpus beam {slots}", options, 60) as figures:
            corpus(figures, options, model, rival, slots)
            print(f"corpus beam {slots}: {figures}", flush=True)
    if options.run is not None and options.data is not None:
        with part("trained", options, 90) as figures:
            trained(figures, options, 5)
            print(f"trained: {figures}", flush=True)
    for name in ("greedy b1", "greedy b64", "beam 5 b64"):
        with part(f"profile {name}", options, 30) as figures:
            profile(figures, model, *CASES[name])


if __name__ == "__main__":
    main()
