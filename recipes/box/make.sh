#!/bin/sh
# One model of the box, from raw files to its scores:
#
#     sh recipes/box/make.sh translator|tagger|sentiment DATA OUT [more for `regard train`]
#
# Killed at any point, the same command goes on. README.md beside this file says what to expect.
set -eu
model=$1 data=$2 place=$3
shift 3
here=$(dirname "$0")
mkdir -p "$place"

learn() { # FOLDER and what else `regard train` is told
    folder=$1
    shift
    regard train --out "$place/$folder" "$@"
}

case $model in
translator)
    [ -f "$place/clean/facts.json" ] || python "$here/clean.py" "$data" "$place/clean"
    [ -f "$place/corpus/facts.json" ] || python "$here/corpus.py" "$place/clean" "$place/corpus"
    set -- "$place/corpus/train.tsv" --valid "$place/corpus/valid.tsv" --config "$here/translator.toml" "$@"
    learn translator-first "$@"
    # Once more from there, by half the rate: a warm restart.
    learn translator --start-from "$place/translator-first" \
        --set train.steps=9000 --set train.rate=7e-4 --set train.warmup=300 "$@"
    python "$here/score.py" "$place/translator" "$data" --clean "$place/clean" --weights int8 \
        --out "$place/translator.json"
    ;;
tagger)
    treebank=$data/ud_english_ewt/en_ewt-ud
    # Its encoder has learned English before: wants a GPU, or patience.
    [ -f "$place/english/train.txt" ] || python "$here/english.py" "$data" "$place/english" --most 1300000
    learn masked "$place/english/train.txt" --valid "$place/english/valid.txt" --task fill \
        --config "$here/english.toml"
    learn tagger --start-from "$place/masked" "$treebank-train.conllu.xz" --valid "$treebank-dev.conllu.xz" \
        --config "$here/tagger.toml" "$@"
    regard evaluate "$place/tagger" "$treebank-test.conllu.xz"
    ;;
sentiment)
    [ -f "$place/sst/train.tsv" ] || python "$here/phrases.py" "$data" "$place/sst"
    learn sentiment "$place/sst/train.tsv" --valid "$place/sst/valid.tsv" --config "$here/sentiment.toml" "$@"
    # Once more from there: denials, contrasts, reviews of products, rated words (MORE: see opinions.py).
    # Tried, and not in the box: docs/log.md, 2026-11-18.
    if [ -n "${MORE:-}" ]; then
        [ -f "$place/opinions/gold.tsv" ] || python "$here/opinions.py" "$data" "$MORE" "$place/opinions"
        regard train "$place/opinions/gold.tsv" --valid "$place/opinions/valid.tsv" --out "$place/sentiment-more" \
            --start-from "$place/sentiment" --config "$here/sentiment.toml" --set train.steps=700 \
            --set train.rate=5e-4 --set train.warmup=50 --set train.ema_decay=0.99 --set train.evaluate_every=100 \
            --set train.checkpoint_every=100 --set train.evaluate_examples=0 --set train.patience=20
        python "$here/unsure.py" "$place/sentiment-more" "$data"
        for test in "$place/sst/test.tsv" "$place/opinions/tests/reviews.tsv" tests/box/negation.tsv tests/box/contrast.tsv; do
            regard evaluate "$place/sentiment-more" "$test"
        done
    fi
    regard evaluate "$place/sentiment" "$place/sst/test.tsv"
    ;;
*)
    echo "no model '$model': translator, tagger or sentiment" >&2
    exit 2
    ;;
esac
