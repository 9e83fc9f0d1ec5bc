#!/bin/sh
# Six scores side by side, where the machine has room for it, three normalisers each; then the one table.
#   sh recipes/six-scores/run.sh FOLDER cpu --toy reverse --config recipes/six-scores/rnn.toml
set -eu
folder=$1 device=$2
shift 2
scores="dot scaled-dot general cosine additive location"
normalise=model.reader.normalise=softmax,sparsemax,relu
mkdir -p "$folder"
for score in $scores; do
  ${REGARD:-regard} compare "$@" --out "$folder" --device "$device" \
    --vary "model.reader.score=$score" --vary "$normalise" >"$folder/$score.log" 2>&1 &
done
wait
${REGARD:-regard} compare "$@" --out "$folder" --device "$device" \
  --vary "model.reader.score=$(echo $scores | tr ' ' ,)" --vary "$normalise"
