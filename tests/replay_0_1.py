"""What was wrong with version 0.1, complaint by complaint: the command, what is seen now, ok or FAIL.

    python tests/replay_0_1.py          # all of it: some minutes
    python tests/replay_0_1.py 4 18     # these points alone
    python tests/replay_0_1.py --tests  # and run the tests that it names, slow ones and a browser's, too

Each point has tests of its own, which say more. This is the list for readers who want to see it themselves:
every command below can be typed. What only a browser shows names the test that looks at it there.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
HOME = HERE.parent
sys.path.insert(0, str(HOME))
RIVER = "The old man sat by the river and watched the boats go by."


class Seen(NamedTuple):
    """One complaint: what was typed, what came, and whether that is right."""

    command: str
    shown: str
    right: bool


class Said(NamedTuple):
    """What a command line said, and how it ended."""

    command: str
    code: int
    out: str
    err: str

    def seen(self, right: bool, shown: str = "") -> Seen:
        text = shown or (self.out + self.err).strip()
        return Seen(self.command, f"exit {self.code}: {text}", right)

    def refused(self, *words: str) -> Seen:
        """Right, if it is an error that says these words, and what to do."""
        said = self.err or self.out
        return self.seen(self.code != 0 and all(word in said for word in words))


Point = Callable[[Path], Iterator[Seen]]
POINTS: dict[int, tuple[str, Point]] = {}


def point(number: int, complaint: str) -> Callable[[Point], Point]:
    def keep(check: Point) -> Point:
        POINTS[number] = (complaint, check)
        return check

    return keep


def regard(*arguments: object) -> Said:
    """A command of `regard`, in this process: torch is loaded once."""
    from regard.cli.main import status

    words = [str(argument) for argument in arguments]
    shown = " ".join(word if re.fullmatch(r"[\w./=:,+-]+", word) else f'"{word}"' for word in words)
    out, err, typing = (
        io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(3)
    )
    before, sys.stdin = sys.stdin, typing
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = status(words)
    finally:
        sys.stdin = before
    written, told = (one.buffer.getvalue().decode("utf-8") for one in (out, err))
    return Said(f"regard {shown}", code, written, told)


def apart(*arguments: str, seconds: float = 300, **environment: str) -> tuple[Said, float]:
    """A command in a process of its own, and the CPU seconds that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    shown = " ".join(arguments).replace("-m regard", "regard")
    return Said(shown, done.returncode, done.stdout, done.stderr), spent


def tests(*names: str) -> Iterator[Seen]:
    """Tests that cover what no command line shows: right, if they are there; `--tests` runs them."""
    for name in names:
        path, _, test = name.partition("::")
        there = (HOME / path).is_file() and f"def {test}" in (HOME / path).read_text("utf-8")
        if not there or "--tests" not in sys.argv:
            yield Seen(f"pytest {name}", "is there" if there else "is missing", there)
            continue
        options = ("-m", "pytest", "-q", "-n", "0", "-m", "slow or not slow", "-k", test)
        said, _ = apart(*options, str(HOME / path), seconds=3600)
        yield Seen(f"pytest {name}", said.out.strip().split("\n")[-1], said.code == 0)


@contextlib.contextmanager
def studio(*runs: str, **environment: str) -> Iterator[str]:
    """A studio on a free port; its address."""
    command = [
        sys.executable,
        "-m",
        "regard",
        "studio",
        *runs,
        "--port",
        "0",
        "--json",
        "--no-page",
    ]
    child = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
    )
    assert child.stdout is not None
    try:
        yield json.loads(child.stdout.readline())["url"].rstrip("/")
    finally:
        child.terminate()
        child.wait(60)
        child.stdout.close()


def ask(url: str, body: bytes | dict[str, Any] | None = None) -> tuple[int, bytes]:
    """What the studio answers: the status and the content."""
    data = json.dumps(body).encode() if isinstance(body, dict) else body
    request = urllib.request.Request(url, data, {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as refusal:
        return refusal.code, refusal.read()


def tiny(folder: Path, *changes: str, steps: int = 4) -> Said:
    """A run that is trained at once."""
    sizes = [
        f"model.{side}.{size}" for side in ("encoder", "reader") for size in ("width=8", "layers=1")
    ]
    options = ["--toy", "reverse", "--device", "cpu", "--json", "--out", folder]
    changes = (*sizes, f"train.steps={steps}", "data.examples=40", *changes)
    return regard("train", *options, *(word for change in changes for word in ("--set", change)))


@point(1, "translate --look draws the map of another answer")
def looks(_: Path) -> Iterator[Seen]:
    from tests.box.test_same_answer import drawn

    os.environ["COLUMNS"] = "300"
    for weights in ("stored", "float32"):
        said = regard("translate", RIVER, "--to", "de", "--look", "--weights", weights)
        printed, mapped = drawn(said.out)
        yield said.seen(printed == mapped, f"printed {printed!r}, drawn {mapped!r}")
    yield from tests("tests/box/test_same_answer.py::test_of_200_sentences")


@point(2, "the translator answers differently alone and in company")
def company(folder: Path) -> Iterator[Seen]:
    lines = folder / "seven.txt"
    lines.write_text("\n".join([". always I", *["The dog sleeps in the garden."] * 6]) + "\n")
    options = ("--to", "de", "--beam", "2", "--whole", "--device", "cpu")
    alone = regard("translate", ". always I", *options)
    among = regard("translate", "--input", lines, *options)
    first = among.out.split("\n")[0]
    yield alone.seen(alone.code == 0)
    yield among.seen(first == alone.out.strip(), f"first line {first!r}")
    yield from tests("tests/answer/test_company.py::test_alone_and_in_company")


@point(3, "weights in the studio are bytes shown as floats")
def exact(_: Path) -> Iterator[Seen]:
    with studio("translator") as url:
        found = json.loads(
            ask(f"{url}/api/trace", {"run": "translator", "text": RIVER, "to": "de"})[1]
        )
        text = ask(f"{url}/api/trace/{found['id']}/export.csv")[1].decode()
    rows = [
        row.rsplit(",", len(found["axes"]["source"]["pieces"]))[1:]
        for row in text.split("\r\n")[1:-1]
    ]
    sums = [sum(map(float, row)) for row in rows]
    right = all(abs(one - 1) < 1e-5 for one in sums)
    shown = f"{rows[0][:3]}...; rows sum to {min(sums):.7f} .. {max(sums):.7f}"
    yield Seen("POST /api/trace; GET /api/trace/ID/export.csv", shown, right)
    yield from tests(
        "tests/studio/test_browser_exact.py::test_table_read_out_and_file_have_the_traces_weights"
    )


@point(4, "slips are answered as if they were meant")
def slips(folder: Path) -> Iterator[Seen]:
    yield regard("translate", "nosuchrun", "Hello", "--to", "fr").refused("there is no such run")
    yield regard("translate", "runs/nosuch", "Hello", "--to", "fr").refused("there is no such run")
    said = regard("translate", "--json", "true", "--to", "fr")
    yield said.seen("<bool>" not in regard("translate", "--help").out and said.code in (0, 2))
    said = regard("translate", "Hola, ¿qué tal estás hoy?", "--to", "en")
    yield said.seen("Spanish" in said.err + said.out)
    said = regard("translate", "Bonjour le monde", "--to", "fr")
    yield said.seen("French" in said.err + said.out or said.out.strip() == "Bonjour le monde")
    for side in ("a.en", "a.de", "v.en", "v.de"):
        (folder / side).write_text("one two\nthree four\nfive six seven\n" * 4)
    names = {side: folder / side for side in ("a.en", "a.de", "v.en", "v.de")}
    said = regard("data", names["a.en"], names["a.de"], "--valid", names["v.en"], names["v.de"])
    yield said.seen(said.code == 2 or "language" not in said.out, (said.out + said.err)[:300])
    said = regard("translate", "Hello.", "--to", "fr", "--temperature", "2")
    yield said.refused("--sample")


@point(5, "regard.watch records nothing of another's model, and says nothing")
def watched(_: Path) -> Iterator[Seen]:
    import torch

    import regard as library

    x = torch.randn(1, 5, 8)
    for name, model, inputs in (
        ("nn.MultiheadAttention", torch.nn.MultiheadAttention(8, 2, batch_first=True), (x, x, x)),
        (
            "nn.TransformerEncoderLayer",
            torch.nn.TransformerEncoderLayer(8, 2, batch_first=True),
            (x,),
        ),
        ("nn.Linear", torch.nn.Linear(8, 8), (x,)),
    ):
        try:
            with library.watch(model) as seen:
                model(*inputs)
            shown, right = f"{len(seen)} attentions recorded", len(seen) > 0
        except library.errors.RegardError as refused:
            shown, right = f"refused: {refused.what}", True
        yield Seen(f"with regard.watch({name}) as seen: model(x)", shown, right)


@point(6, "NaN of the future, stars among zeros, scores that are not the cards'")
def numbers(_: Path) -> Iterator[Seen]:
    import torch

    from regard.attention import Causal, attend

    query, key = torch.randn(1, 1, 4, 8), torch.randn(1, 1, 4, 8)
    key[:, :, 2:] = torch.nan
    rows = attend(query, key, key.clone(), mask=Causal())[0, 0, :2]
    yield Seen(
        "attend(q, k, v, mask=Causal()), NaN in keys 2 and 3",
        f"rows 0, 1: {rows[0, :2].tolist()}...",
        bool(rows.isfinite().all()),
    )
    with studio("translator") as url:
        about = json.loads(ask(f"{url}/api/about")[1])
    from regard import box

    told = json.dumps(about)
    scores = [score.value for score in box.card("translator").foremost()]
    yield Seen(
        "GET /api/about", f"the card's scores are {scores}", all(str(one) in told for one in scores)
    )
    yield from tests(
        "tests/training/test_compare.py::test_there_is_no_star_without_a_difference_to_see",
        "tests/studio/test_routes_trace.py::test_a_forced_symbol_is_as_likely_in_the_tree_as_in_the_steps",
        "tests/studio/test_browser_defects.py::test_one_default_of_heads_in_all_views_and_it_can_be_changed",
    )


@point(7, "lost sentences, marks in answers, copied programs that do not run")
def sentences(_: Path) -> Iterator[Seen]:
    said = regard("translate", "First line. Second line here.", "--to", "fr")
    yield said.seen(said.out.count("ligne") == 2)
    said = regard(
        "translate", "A family: \U0001f468\u200d\U0001f469\u200d\U0001f467.", "--to", "fr"
    )
    yield said.seen("[ZWJ]" not in said.out and "\u200d" in said.out)
    with studio("translator") as url:
        body = {"run": "translator", "text": "First line. Second line here.", "to": "fr"}
        lines = ask(f"{url}/api/answer", body)[1].decode().splitlines()
    yield Seen("POST /api/answer", lines[-1], json.loads(lines[-1])["text"].count("ligne") == 2)
    yield from tests(
        "tests/studio/test_browser_defects.py::test_the_language_shown_is_the_one_used_while_loading_and_after_an_error",
        "tests/studio/test_browser_defects.py::test_an_unknown_word_is_shown_beside_its_mark",
        "tests/studio/test_browser_defects.py::test_a_graph_of_a_long_text_draws_only_tokens_that_exist",
        "tests/studio/test_browser_defects.py::test_each_step_of_navigation_can_be_undone",
        "tests/studio/test_browser_defects.py::test_an_unknown_run_is_said_and_no_other_answers",
        "tests/studio/test_browser_python.py::test_every_view_of_every_kind",
    )


@point(8, "make check test fails on other processors, and after make demo")
def elsewhere(_: Path) -> Iterator[Seen]:
    gate = (HOME / ".ci" / "run").read_text("utf-8") + (HOME / "Makefile").read_text("utf-8")
    yield Seen(
        "cat .ci/run Makefile",
        "test-cpu runs with reduced features",
        "ATEN_CPU_CAPABILITY" in gate and "test-cpu" in gate,
    )
    yield from tests("tests/conftest.py::_own_folder")
    yield from tests("tests/answer/test_company.py::test_on_processors_that_can_do_less")


@point(9, "batch.tokens below 256 trains, and then nothing can use the run")
def settings(folder: Path) -> Iterator[Seen]:
    run = folder / "small"
    yield _ended(tiny(run, "batch.tokens=100"))
    yield _ended(tiny(run, "batch.tokens=100", steps=6))
    yield _ended(regard("translate", "-m", run, "a b c", "--device", "cpu"))
    yield _ended(regard("evaluate", run, "--examples", "3", "--device", "cpu"))
    yield from tests(
        "tests/run/test_any_settings.py::test_a_run_that_is_accepted_can_be_resumed_used_and_judged"
    )


def _ended(said: Said) -> Seen:
    return said.seen(said.code == 0, (said.out + said.err).strip().split("\n")[-1][:200])


@point(10, "a lost model is a dead end, a flipped bit is believed, SIGHUP loses the run")
def damage(folder: Path) -> Iterator[Seen]:
    import shutil

    from regard import box

    run = folder / "lost"
    tiny(run)
    weights = run / "model.safetensors"
    before = weights.read_bytes()
    weights.unlink()
    said = regard("train", run, "--json", "--device", "cpu")
    same = weights.is_file() and weights.read_bytes() == before
    yield said.seen(
        said.code == 0 and same, f"model.safetensors is {'as before' if same else 'not there'}"
    )
    weights.write_bytes(before[:-50] + bytes([before[-50] ^ 1]) + before[-49:])
    yield regard("translate", "-m", run, "a b c", "--device", "cpu").refused(
        "is not what was written", "regard train"
    )
    copied = Path(shutil.copytree(box.folder("sentiment"), folder / "sentiment"))
    content = bytearray((copied / "model.safetensors").read_bytes())
    content[-1000] ^= 1
    (copied / "model.safetensors").write_bytes(content)
    yield regard("classify", "-m", copied, "so good").refused("is not what was written")
    weights.write_bytes(before)
    (run / "data" / "probes.jsonl").write_bytes(b'{"question": 3}\n')
    said = regard("look", run)
    yield said.refused("probes.jsonl is damaged", "regard train")
    yield from tests(
        "tests/training/test_stop.py::test_a_signal_is_an_exit_code_and_the_next_start_goes_on"
    )


@point(11, "small files and requests that take minutes or gigabytes")
def bounds(folder: Path) -> Iterator[Seen]:
    named = (
        "settings of a run",
        "tokenizer",
        "codec",
        "trace",
        "Arrow stream",
        "packed Arrow file",
    )
    code = "from tests.faults.test_bounds import main; main()"
    said, spent = apart(
        "-c",
        code,
        str(folder / "bounds"),
        *named,
        seconds=900,
        PYTHONPATH=os.pathsep.join(sys.path),
    )
    shown = said.out.strip() or f"{', '.join(named)}: nothing is wrong ({spent:.0f} s)"
    yield Seen(
        "tests/faults/test_bounds.py, some of its loaders",
        shown + said.err[-300:],
        (said.code, said.out) == (0, ""),
    )
    with studio("sentiment", REGARD_TOKEN="secret-secret-secret") as url:
        body = b'"' + b'\\"' * 8000
        status, _ = ask(f"{url}/api/trace", body)
        yield Seen(
            "POST /api/trace of 16 kB of quotation marks, without the token",
            f"status {status}",
            status in (401, 403, 422),
        )
    with studio("sentiment") as url:
        status, _ = ask(f"{url}/api/trace", body)
        yield Seen(
            "POST /api/trace of 16 kB of quotation marks",
            f"status {status}, at once",
            status == 422,
        )
    yield from tests(
        "tests/faults/test_bounds.py::test_time_and_memory_grow_with_the_file_and_no_faster"
    )


@point(12, "320 words in the studio: nothing for 60 s, then an error")
def long_text(_: Path) -> Iterator[Seen]:
    with studio("translator") as url:
        body = {"run": "translator", "text": " ".join(["The dog sleeps."] * 107), "to": "fr"}
        lines = ask(f"{url}/api/answer", body)[1].decode().splitlines()
    kinds = [json.loads(line)["kind"] for line in lines]
    yield Seen(
        "POST /api/answer of 321 words",
        f"{kinds.count('answered')} sentences answered, one by one",
        kinds.count("answered") == 107 and kinds[-1] == "finished",
    )
    yield from tests("tests/studio/test_answer.py::test_every_sentence_is_answered_as_it_is_alone")


@point(13, "after make setup there is no regard on the PATH")
def setup(_: Path) -> Iterator[Seen]:
    readme = (HOME / "README.md").read_text("utf-8")
    yield Seen(
        "head README.md", "source .venv/bin/activate", "source .venv/bin/activate" in readme[:1500]
    )
    yield from tests(
        "tests/house/test_setup.py::test_users_get_no_tools_of_contributors",
        "tests/house/test_setup.py::test_setup_builds_the_page_and_says_how_regard_becomes_a_command",
    )


@point(14, "regard studio in a fresh clone serves 'not built'")
def page(_: Path) -> Iterator[Seen]:
    yield from tests(
        "tests/studio/test_page.py::test_a_page_that_is_not_built_is_an_error_before_anything_is_served"
    )


@point(15, "a missing file takes 4.4 s to report, a sentence 5 s")
def quick(folder: Path) -> Iterator[Seen]:
    said, spent = least(
        "-m", "regard", "translate", "--input", str(folder / "missing.txt"), "--to", "fr"
    )
    yield said.seen(
        said.code == 2 and spent < 0.5,
        f"{spent:.2f} s of CPU time: {said.err.strip().splitlines()[0]}",
    )
    from regard import box

    weights = box.folder("translator") / "model.safetensors"
    code = (
        "from pathlib import Path; import torch; from regard.run import weights; "
        f"weights.read(Path({str(weights)!r}))"
    )
    _, floor = least("-c", code)
    said, spent = least("-m", "regard", "translate", "The black cat ate the mouse.", "--to", "fr")
    yield said.seen(
        spent <= 1.3 * floor,
        f"{said.out.strip()} {spent:.2f} s; torch and the weights alone {floor:.2f} s",
    )


def least(*arguments: str) -> tuple[Said, float]:
    """The same command four times, and its least CPU time; Python keeps what it compiled."""
    runs = (apart(*arguments, PYTHONDONTWRITEBYTECODE="") for _ in range(4))
    return min(runs, key=lambda one: one[1])


@point(16, "in Python the obvious thing fails")
def obvious(_: Path) -> Iterator[Seen]:
    import inspect
    import pydoc

    import numpy as np
    import torch

    import regard as library
    from regard.attention import Heads, attend

    length = len(pydoc.render_doc(library, renderer=pydoc.plaintext))
    yield Seen("help(regard)", f"{length:,} characters", length < 40_000)
    yield Seen("inspect.signature(regard.train)", str(inspect.signature(library.train))[:80], True)
    model = library.load("tagger")
    seen = library.look(model, "it sleeps")
    yield Seen("regard.look(model, text)", repr(seen)[:80], True)
    yield Seen(
        "model.look(text)._repr_html_()", "a picture", "<" in model.look("it sleeps")._repr_html_()
    )
    yield Seen("attend of lists", str(attend([[1.0, 2.0]], [[1.0, 0.0]], [[3.0, 4.0]]))[:60], True)
    yield Seen(
        "attend of NumPy",
        str(attend(*[np.ones((2, 3), np.float32)] * 3))[:60].replace("\n", " "),
        True,
    )
    yield Seen("Heads(16, 4)(x)", str(tuple(Heads(16, 4)(torch.randn(1, 3, 16)).shape)), True)
    try:
        Heads(16, 4, "no-such-score")
        shown, right = "accepted", False
    except library.errors.RegardError as refused:
        shown, right = f"refused: {refused.what}", True
    yield Seen('Heads(16, 4, "no-such-score")', shown, right)
    yield from tests("tests/cli/test_readme.py::test_")


@point(17, "what a newcomer meets first: sizes, bars, tags without words")
def newcomer(folder: Path) -> Iterator[Seen]:
    said = regard("tag", "I saw john@example.com at 5:30pm, don't you?")
    yield said.seen("I/PRON saw/VERB" in said.out)
    said = regard("tag", "I saw it.", "--look")
    yield said.seen(said.code == 0, said.out[:200])
    said = regard(
        "point", "0.3 0.1 0.2"
    )  # there was no model for either, and no word of how to make one
    yield said.seen(said.out == "1 2 0\n")
    said = regard("continue", "I would like to")
    yield said.seen(said.code == 0 and said.out.startswith("I would like to "))
    pairs = folder / "pairs.tsv"
    pairs.write_text("".join(f"one {number}\ttwo {number}\n" for number in range(3000)))
    from regard.run.resolve import resolve

    chosen = resolve(train=[pairs], valid=[pairs]).model
    tiny_one = resolve(name="vaswani2017-tiny", train=[pairs], valid=[pairs]).model
    shown = f"width {chosen.encoder.width}, {chosen.encoder.layers} layers"
    yield Seen("regard train pairs.tsv, of 3,000 pairs", shown, chosen == tiny_one)
    yield from tests(
        "tests/training/test_progress.py::test_",
        "tests/cli/test_bar.py::test_",
    )


@point(18, "errors without a remedy, exit codes that differ")
def errors(folder: Path) -> Iterator[Seen]:
    empty, binary = folder / "empty.tsv", folder / "model.bin"
    empty.write_bytes(b"")
    binary.write_bytes(bytes(range(256)) * 9)
    yield regard("data", folder / "missing.tsv").refused("missing.tsv")
    codes = [
        regard(*one).code
        for one in (
            ("data", folder / "no"),
            ("train", folder / "no", "--out", folder / "x"),
            ("evaluate", folder / "no"),
            ("doctor", "nosuch"),
        )
    ]
    yield Seen(
        "exit codes of a missing file: data, train, evaluate, doctor", str(codes), set(codes) == {2}
    )
    yield regard("data", empty).refused("empty", "one example a line")
    yield regard("data", binary).refused("binary")
    for to in ("FR", "french"):
        yield _ended(regard("translate", "Hello.", "--to", to))
    yield regard("train", "--toy", "reverse", "--out", folder / "y", "-s", "steps=5").refused(
        "train.steps"
    )
    yield regard("train", "--toy", "reverse", "--out", folder / "y", "--epochs", "3").refused(
        "train.epochs"
    )
    said = regard("doctor", "nosuch")
    yield said.seen(said.code == 2 and "no such run" in (said.err + said.out).split("\n")[0])


def main() -> int:
    """Replay what was asked for; how many complaints are still right."""
    wanted = [int(word) for word in sys.argv[1:] if word.isdigit()] or sorted(POINTS)
    wrong = 0
    for number in wanted:
        complaint, check = POINTS[number]
        print(f"\n{number}. {complaint}", flush=True)
        with tempfile.TemporaryDirectory(prefix="replay-") as place:
            try:
                for seen in check(Path(place)):
                    wrong += not seen.right
                    print(
                        f"  $ {seen.command}\n    {seen.shown[:600]}\n    {'ok' if seen.right else 'FAIL'}",
                        flush=True,
                    )
            except Exception as fault:
                wrong += 1
                print(f"    FAIL: {fault!r}", flush=True)
    print(f"\n{wrong or 'no'} complaints are still right")
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
