#!/bin/sh
# One model of the box, from raw files to its scores:
#
#     sh recipes/box/make.sh MODEL DATA OUT [more for `regard train`]
#
# MODEL is translator, tuned (the translator in the box, trained a little more on what people meet first), tagger or
# sentiment, or one of the toys: shapes, digits, spoken-digits, writer, sorter, persian.
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
    more=$place/more
    mkdir -p "$more"
    # The dictionary of Debian's package dict-freedict-eng-deu, and sentences made by rules.
    [ -f "$more/dictionary.tsv" ] || python "$here/dictionary.py" "$data/freedict-eng-deu.dict.dz" "$more/dictionary.tsv"
    [ -f "$more/pairs.tsv.xz" ] || python "$here/made.py" "$more" --data "$data"
    [ -f "$place/clean/facts.json" ] || python "$here/clean.py" "$data" "$place/clean" --more "$more"/*
    # Twice through the text of before, the second time by half the rate: a warm restart.
    [ -f "$place/first/facts.json" ] || python "$here/corpus.py" "$place/clean" "$place/first" --first
    first="$place/first/train.tsv --valid $place/first/valid.tsv --config $here/translator.toml"
    learn translator-first $first
    learn translator-second --start-from "$place/translator-first" $first \
        --set train.steps=9000 --set train.rate=7e-4 --set train.warmup=300
    # What teachers write: DATA/opus-mt has the folders en-fr and fr-en of OPUS-MT.
    [ -d "$place/lines" ] || python "$here/distil.py" choose "$place/clean" "$data" "$place/lines"
    for way in en-fr fr-en; do
        [ -d "$place/opus-$way" ] || regard models import "$data/opus-mt/$way" "$place/opus-$way"
        python "$here/distil.py" write "$place/opus-$way" "$place/lines/$way.txt" "$place/by-teacher-$way"
    done
    python "$here/distil.py" write "$place/translator-second" "$place/lines/en-de.txt" "$place/by-teacher-en-de" --to de
    [ -f "$place/directed.tsv" ] || python "$here/distil.py" join "$place/directed.tsv" --en-fr "$place/by-teacher-en-fr" \
        --fr-en "$place/by-teacher-fr-en" --en-de "$place/by-teacher-en-de"
    [ -f "$place/corpus/facts.json" ] ||
        python "$here/corpus.py" "$place/clean" "$place/corpus" --directed "$place/directed.tsv"
    learn translator --start-from "$place/translator-second" \
        "$place/corpus/train.tsv" --valid "$place/corpus/valid.tsv" --config "$here/translator.toml" \
        --set train.steps=8500 --set train.rate=9e-4 --set train.warmup=300 "$@"
    python "$here/score.py" "$place/translator" "$data" --clean "$place/clean" --weights int8 \
        --out "$place/translator.json"
    ;;
tuned)
    # A short training from the weights in the box, which a processor can do that multiplies bfloat16: half of it
    # pairs of our own, half a little of everything. Tried, and not in the box: docs/log.md, 2026-11-19.
    mkdir -p "$place/more"
    [ -f "$place/more/dictionary.tsv" ] ||
        python "$here/dictionary.py" "$data/freedict-eng-deu.dict.dz" "$place/more/dictionary.tsv"
    [ -f "$place/own/pairs.tsv.xz" ] || python "$here/made.py" "$place/own" --data "$data"
    [ -f "$place/clean/facts.json" ] ||
        python "$here/clean.py" "$data" "$place/clean" --some --more "$place/more/dictionary.tsv"
    [ -f "$place/text/facts.json" ] ||
        python "$here/tune.py" "$place/clean" "$place/own/pairs.tsv.xz" "$place/text"
    # Two trainings that read in another order and never talk, one a processor core; then their mean.
    for seed in 1 2; do
        learn "tuned-$seed" "$place/text/train.tsv" --valid "$place/text/valid.tsv" --start-from translator \
            --config "$here/translator.toml" --set seed=$seed --set batch.tokens=1024 --set train.steps=400 \
            --set train.rate=2e-4 --set train.schedule=constant --set train.warmup=10 --set train.ema_decay=0.97 \
            --set train.compile=false --set train.evaluate_every=100 --set train.checkpoint_every=100 \
            --set model.encoder.dropout=0 --set model.reader.dropout=0 "$@"
    done
    [ -d "$place/tuned" ] ||
        python "$here/mix.py" translator "$place/tuned" "$place/tuned-1" "$place/tuned-2" --place 0.7
    python "$here/exact.py" "$place/tuned"
    python "$here/exact.py" "$place/tuned" --test "$here/lectures_test.tsv"
    python "$here/score.py" "$place/tuned" "$data" --clean "$place/clean" --development --weights int8 --most 300
    ;;
tagger)
    # DATA/minilm: `config.json`, `tokenizer.json`, `model.safetensors` of all-MiniLM-L6-v2. MORE: see opinions.py.
    treebank=$data/ud_english_ewt/en_ewt-ud
    # Its encoder has learned English before: wants a GPU, or patience.
    [ -f "$place/english/train.txt" ] || python "$here/english.py" "$data" "$place/english" --most 1300000
    learn masked "$place/english/train.txt" --valid "$place/english/valid.txt" --task fill \
        --config "$here/english.toml"
    learn tagger-first --start-from "$place/masked" "$treebank-train.conllu.xz" --valid "$treebank-dev.conllu.xz" \
        --config "$here/tagger.toml"
    # Once more from there, on what a larger encoder tagged.
    [ -f "$place/mixed/train.txt" ] || python "$here/english.py" "$data" "$place/mixed" --mixed
    [ -f "$place/taught/english.txt" ] ||
        python "$here/totag.py" choose "$data" "$MORE" "$place/mixed/train.txt" "$place/taught"
    [ -f "$place/taught/tags.tsv" ] ||
        python "$here/teacher.py" tags "$data/minilm" "$place/taught" --epochs 5
    python "$here/totag.py" join "$place/taught"
    learn tagger --start-from "$place/tagger-first" "$place/taught/train.conll" --valid "$treebank-dev.conllu.xz" \
        --config "$here/taught.toml" "$@"
    regard evaluate "$place/tagger" "$treebank-test.conllu.xz"
    ;;
sentiment)
    # DATA/minilm as for the tagger, MORE: see opinions.py.
    own=$place/opinions
    [ -f "$place/mixed/train.txt" ] || python "$here/english.py" "$data" "$place/mixed" --mixed
    [ -f "$own/gold.tsv" ] || python "$here/opinions.py" "$data" "$MORE" "$own" --english "$place/mixed/train.txt"
    [ -s "$own/judged.tsv" ] || python "$here/teacher.py" judgements "$data/minilm" "$own" --epochs 1
    # Its encoder begins as the two lower layers of the teacher's, with fewer pieces.
    [ -d "$place/start" ] || {
        python "$here/smaller.py" "$data/minilm" "$place/smaller" "$own/gold.tsv"
        regard models import "$place/smaller" "$place/start"
    }
    cat "$own/gold.tsv" "$own/judged.tsv" > "$own/train.tsv"
    learn sentiment --start-from "$place/start" --task classify "$own/train.tsv" --valid "$own/valid.tsv" \
        --config "$here/sentiment.toml" "$@"
    python "$here/unsure.py" "$place/sentiment" "$data"
    for test in "$own/tests/sst2.tsv" "$own/tests/reviews.tsv" tests/box/negation.tsv tests/box/contrast.tsv; do
        regard evaluate "$place/sentiment" "$test"
    done
    ;;
shapes)
    # This toy and the next are narrower than their presets: small, and some more steps.
    learn shapes -p captioner --set model.encoder.width=64 --set model.reader.width=64 \
        --set 'model.encoder.front.channels=[16,32,64]' --set model.reader.feedforward=128 \
        --set train.steps=1600 --set train.evaluate_every=200 --set train.checkpoint_every=200 "$@"
    regard evaluate "$place/shapes" --json > "$place/shapes.json"
    ;;
digits)
    learn digits -p xu2015-soft --set model.encoder.width=64 --set model.reader.width=64 \
        --set 'model.encoder.front.channels=[16,32,64]' \
        --set train.steps=2400 --set train.evaluate_every=300 --set train.checkpoint_every=300 "$@"
    regard evaluate "$place/digits" --json > "$place/digits.json"
    ;;
spoken-digits)
    python "$here/../spoken-digits/run.py" "$data/fsdd/fsdd.tar.xz" "$place/$model" --steps 1600 --width 64
    for part in takes speaker; do
        regard evaluate "$place/$model/run" "$place/$model/$part" --json > "$place/$model-$part.json"
    done
    ;;
writer)
    [ -f "$place/everyday/train.txt" ] || python "$here/english.py" "$data" "$place/everyday" --only tatoeba
    learn writer "$place/everyday/train.txt" --valid "$place/everyday/valid.txt" --config "$here/writer.toml" "$@"
    regard evaluate "$place/writer" "$place/everyday/valid.txt" --json > "$place/writer.json"
    ;;
sorter)
    learn sorter -p vinyals2015-sort --set model.encoder.width=64 --set model.reader.width=64 \
        --set train.steps=1600 "$@"
    regard evaluate "$place/sorter" --json > "$place/sorter.json"
    ;;
persian)
    learn persian -p devlin2019 --toy persian --set model.encoder.width=64 --set model.encoder.layers=3 \
        --set model.encoder.feedforward=128 --set model.encoder.dropout=0.1 --set train.steps=2000 \
        --set train.evaluate_every=250 --set train.checkpoint_every=250 "$@"
    regard evaluate "$place/persian" --json > "$place/persian.json"
    ;;
*)
    echo "no model '$model': translator, tuned, tagger, sentiment, shapes, digits, spoken-digits, writer, sorter or persian" >&2
    exit 2
    ;;
esac
