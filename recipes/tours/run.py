"""The travelling salesman with 5, 10 and 20 cities: a pointer network that can only answer with whole tours.

    python recipes/tours/run.py OUT [--cities 20] [--examples 300000] [--seconds N] [--device auto]

Points are drawn evenly from the unit square. Tours to learn from come from a search that moves pieces of a
tour (2-opt and Or-opt) until no move shortens it, from several random starts, for many problems at once: for
10 cities or fewer it is checked against Held and Karp's exact tours. OUT/results.json has the mean length of
the answers to 10,000 new problems (1,000 with `--smoke`), beside that of the search (Vinyals 2015; L81).
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import torch
from torch import Tensor

sys.path.append(str(Path(__file__).parents[1]))
from timed import learn_for

import regard
from regard.data.toys.tours import one_way, shortest_tour, tour_length

PUBLISHED = {5: (2.12, 2.12), 10: (2.88, 2.87), 20: (3.88, 3.83)}  # pointer network, best known
STARTS = 8
CHUNK = 2000  # problems at once


def lengths(points: Tensor, tours: Tensor) -> Tensor:
    """All the way round, of each."""
    places = points.gather(1, tours.unsqueeze(-1).expand(-1, -1, 2))
    return (places - places.roll(-1, 1)).norm(dim=-1).sum(1)


def _moves(far: Tensor, tours: Tensor) -> tuple[Tensor, Tensor]:
    """How much longer every move makes each tour, and where each place of the tour then stands.

    Moves are looked up in a table of new orders: a piece turned round (2-opt), or taken out and put in
    elsewhere, as it is or turned round (Or-opt).
    """
    orders = _orders(tours.shape[1], tours.device)
    rows = torch.arange(len(tours), device=tours.device)[:, None, None]
    # Only the edges that differ matter, but there are few places: every new tour is measured whole.
    moved = tours[:, orders]  # (problem, move, place)
    return far[rows, moved, moved.roll(-1, 2)].sum(2), orders


_TABLES: dict[tuple[int, str], Tensor] = {}


def _orders(count: int, device: torch.device) -> Tensor:
    """Every order that one move makes of 0, 1, ..; the first is the one without a move."""
    key = (count, str(device))
    if key not in _TABLES:
        usual, found = list(range(count)), {tuple(range(count))}
        for first in range(1, count):
            for last in range(first + 2, count + 1):
                found.add((*usual[:first], *usual[first:last][::-1], *usual[last:]))
        for size in (1, 2, 3):
            for first in range(1, count - size + 1):
                piece, rest = usual[first : first + size], usual[:first] + usual[first + size :]
                for place in range(1, len(rest) + 1):
                    for one in (piece, piece[::-1]):
                        found.add((*rest[:place], *one, *rest[place:]))
        found.discard(tuple(usual))
        _TABLES[key] = torch.tensor([usual, *sorted(found)], device=device)
    return _TABLES[key]


def improved(points: Tensor, tours: Tensor) -> Tensor:
    """The best move of each, again and again, until no move shortens any of them."""
    far = (points[:, :, None] - points[:, None]).norm(dim=-1)
    left = torch.arange(len(tours), device=tours.device)
    while len(left):
        costs, orders = _moves(far[left], tours[left])
        best = costs.argmin(1)
        gain = costs[:, 0] - costs.gather(1, best[:, None])[:, 0]
        better = gain > 1e-5  # sums in another order differ by less
        left, best = left[better], best[better]
        tours[left] = tours[left].gather(1, orders[best])
    return tours


def searched(points: Tensor, starts: int, chance: torch.Generator) -> Tensor:
    """The shortest of what several random starts lead to."""
    best = tours = None
    for _ in range(starts):
        lots = torch.rand(points.shape[:2], generator=chance).to(points.device)
        tours = improved(points, lots.argsort(1))
        if best is None:
            best = tours
        shorter = lengths(points, tours) < lengths(points, best)
        best = torch.where(shorter[:, None], tours, best)
    return best


def draw(count: int, cities: int, seed: int, device: str, starts: int) -> tuple[Tensor, Tensor]:
    """So many problems and their tours."""
    chance = torch.Generator().manual_seed(seed)
    points = torch.rand(count, cities, 2, generator=chance)
    tours = [searched(some.to(device), starts, chance).cpu() for some in points.split(CHUNK)]
    return points, torch.cat(tours)


def turned(points: Tensor, tours: Tensor, copies: int, seed: int) -> tuple[Tensor, Tensor]:
    """The same problems again: mirrored, turned, and their points in other orders; tours go along."""
    chance = torch.Generator().manual_seed(seed)
    every = [(points, tours)]
    for _ in range(copies - 1):
        order = torch.rand(tours.shape, generator=chance).argsort(1)
        moved = points.gather(1, order.unsqueeze(-1).expand(-1, -1, 2))
        mirror = torch.rand(len(points), 1, 3, generator=chance) < 0.5
        moved = torch.where(mirror[..., :2], 1 - moved, moved)
        moved = torch.where(mirror[..., 2:], moved.flip(-1), moved)
        every.append((moved, order.argsort(1).gather(1, tours)))
    return torch.cat([p for p, _ in every]), torch.cat([t for _, t in every])


def write(path: Path, points: Tensor, tours: Tensor) -> None:
    """JSON lines with items and positions; each tour begins at item 0, as `regard`'s own toy has them."""
    with path.open("w", encoding="utf-8") as file:
        for items, tour in zip(points.tolist(), tours.tolist(), strict=True):
            rounded = [[round(x, 5), round(y, 5)] for x, y in items]
            file.write(json.dumps({"items": rounded, "positions": list(one_way(tour))}) + "\n")


def prepare(options: argparse.Namespace) -> dict:
    """The files, and how good the tours are that are learned from."""
    sizes = {"train": options.examples, "valid": options.valid, "test": options.test}
    about = {}
    for number, (part, count) in enumerate(sizes.items()):
        path = options.out / f"{part}.jsonl"
        if path.is_file():
            continue
        starts = options.starts if part == "train" else 4 * options.starts
        points, tours = draw(count, options.cities, 17 + number, options.search_on, starts)
        write(
            path,
            *(turned(points, tours, options.copies, 5) if part == "train" else (points, tours)),
        )
        about[part] = round(lengths(points, tours).mean().item(), 4)
        if options.cities <= 10 and part == "test":
            some = [p.tolist() for p in points[:200]]
            exact = sum(tour_length(p, shortest_tour(p)) for p in some) / len(some)
            about["search over exact"] = lengths(points[:200], tours[:200]).mean().item() / exact
        print(part, count, about, flush=True)
    return about


def learn(options: argparse.Namespace) -> bool:
    width = options.width
    settings = {
        **{"model.encoder.width": width, "model.reader.width": width},
        **{"model.encoder.dropout": 0.0, "batch.tokens": options.tokens},
        **{"train.steps": options.steps, "train.rate": options.rate, "train.warmup": 200},
        **{"train.average": "ema", "train.evaluate_every": options.every},
        **{"train.checkpoint_every": options.every, "train.evaluate_examples": 200},
        **{"train.log_every": 100, "decode.beam": 1},
    }
    return learn_for(
        options.seconds,
        options.out / "train.jsonl",
        out=options.out / "model",
        valid=options.out / "valid.jsonl",
        preset="vinyals2015-tour",
        settings=settings,
        device=options.device,
    )


def judge(options: argparse.Namespace) -> dict:
    """Mean lengths: greedy, and by a beam."""
    model = regard.load(options.out / "model", device=options.device)
    lines = [json.loads(x) for x in (options.out / "test.jsonl").read_text().splitlines()]
    questions = [" ".join(f"{x:g},{y:g}" for x, y in line["items"]) for line in lines]
    due = sum(tour_length(line["items"], line["positions"]) for line in lines) / len(lines)
    found = {"cities": options.cities, "problems": len(lines), "search": round(due, 4)}
    for beam in (1, 4):
        answers = [one.text for one in model.predict(questions, beam=beam)]
        said = [list(map(int, text.split())) for text in answers]
        whole = sum(sorted(one) == list(range(options.cities)) for one in said)
        far = [tour_length(line["items"], one) for line, one in zip(lines, said, strict=True)]
        name = "greedy" if beam == 1 else f"beam {beam}"
        found[name] = round(sum(far) / len(far), 4)
        found[f"{name}, whole tours"] = whole
    network, best = PUBLISHED.get(options.cities, (None, None))
    return {**found, "published": network, "best published": best}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--cities", type=int, default=20)
    parser.add_argument("--examples", type=int, default=300_000)
    parser.add_argument("--test", type=int, default=10_000)
    parser.add_argument("--valid", type=int, default=1000)
    parser.add_argument("--copies", type=int, default=3, help="of each problem, turned or mirrored")
    parser.add_argument("--starts", type=int, default=STARTS)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--tokens", type=int, default=16384)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--steps", type=int, default=40_000)
    parser.add_argument("--every", type=int, default=500)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--search-on", default="cpu", help="where tours are searched: cpu or cuda")
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    about = prepare(options)
    if learn(options):
        found = {**judge(options), "tours learned from": about.get("train")}
        (options.out / "results.json").write_text(json.dumps(found, indent=1))
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
