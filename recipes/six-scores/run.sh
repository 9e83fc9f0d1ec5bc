#!/bin/sh
# Six scores side by side, where the machine has room for it, three normalisers each; then the one table.
#   sh recipes/six-scores/run.sh OUT cpu --toy reverse --config recipes/six-scores/rnn.toml
set -eu
out=$1 device=$2
shift 2
scores="dot scaled-dot general cosine additive location"
normalise=model.reader.normalise=softmax,sparsemax,relu
mkdir -p "$out"
for score in $scores; do
  ${REGARD:-regard} compare "$@" --out "$out" --device "$device" \
    --vary "model.reader.score=$score" --vary "$normalise" >"$out/$score.log" 2>&1 &
done
wait
${REGARD:-regard} compare "$@" --out "$out" --device "$device" \
  --vary "model.reader.score=$(echo $scores | tr ' ' ,)" --vary "$normalise"
