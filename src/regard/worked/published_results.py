"""What the paper of the Transformer reports, and what can be worked out from it (L74, L94).

Figures are those of Vaswani 2017, Table 2 and section 5.2. Nothing here was measured by this library:
`docs/results.md` says what was.
"""

from __future__ import annotations

from regard.worked.worked_example import Number, Slip, Step, Worked, positive

# newstest2014, BLEU into German and into French; ensembles are the best that the paper compares with.
ENSEMBLES = {
    "GNMT + RL, ensemble": (26.30, 41.16),
    "ConvS2S, ensemble": (26.36, 41.29),
}
SINGLE = {"GNMT + RL": (24.6, 39.92), "ConvS2S": (25.16, 40.46), "MoE": (26.03, 40.56)}
TRANSFORMER = {"Transformer, base": (27.3, 38.1), "Transformer, big": (28.4, 41.8)}

SLIPS = (
    Slip(
        "L94",
        "best",
        "41.0 into French",
        "41.8 into French",
        "The lectures quote two versions of the paper's abstract; both say 28.4 into German. With 41.0 it "
        "would be the best single model, but not above the ensembles' 41.29.",
    ),
)


def headline_results(
    gpus: int = 8,
    days: Number = 3.5,
    steps: int = 300_000,
    teraflops: Number = 9.5,
) -> Worked:
    """BLEU of the paper beside the best before it, and what 8 GPUs do in 3.5 days."""
    positive(gpus=gpus, days=days, steps=steps, teraflops=teraflops)
    table = SINGLE | ENSEMBLES | TRANSFORMER
    best = TRANSFORMER["Transformer, big"]
    before = [max(row[side] for row in (SINGLE | ENSEMBLES).values()) for side in (0, 1)]
    alone = [max(row[side] for row in SINGLE.values()) for side in (0, 1)]
    seconds = float(days) * 86_400
    return Worked(
        formula="operations = GPUs x seconds x operations a second of one GPU",
        given=(
            Step("GPUs", "NVIDIA P100", gpus),
            Step("days", "of training, the big model", float(days)),
            Step("steps", "of training, the big model", steps),
            Step("teraflops", "10^12 operations a second, as the paper assumes", float(teraflops)),
        ),
        steps=(
            Step(
                "published",
                "BLEU on newstest2014 (WMT 2014)",
                tuple(table.values()),
                tuple(table),
                ("English-German", "English-French"),
                note="Vaswani 2017, Table 2; tokenised text, so these are not sacrebleu's numbers.",
            ),
            Step("best", "Transformer, big", best, columns=("English-German", "English-French")),
            Step(
                "above the best, ensembles included",
                "BLEU gained",
                (best[0] - before[0], best[1] - before[1]),
                columns=("English-German", "English-French"),
            ),
            Step(
                "above the best single model",
                "BLEU gained",
                (best[0] - alone[0], best[1] - alone[1]),
                columns=("English-German", "English-French"),
            ),
            Step("GPU-days", "GPUs x days", gpus * float(days)),
            Step("a step", "seconds / steps", seconds / steps, note="The paper says 1.0 seconds."),
        ),
        result=Step(
            "operations",
            "GPUs x seconds x operations a second",
            f"{gpus * seconds * 1e12 * float(teraflops):.2g}",
            note="Table 2 of the paper says 2.3e19.",
        ),
        slips=SLIPS,
    )
