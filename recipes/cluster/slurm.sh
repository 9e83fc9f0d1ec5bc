#!/usr/bin/env bash
# sbatch recipes/cluster/slurm.sh DATA/train.en DATA/train.de
# SIGTERM comes two minutes before the end: regard saves and leaves with 143; Slurm requeues, and it goes on.
#SBATCH --job-name=regard
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=4
#SBATCH --cpus-per-task=16
#SBATCH --time=08:00:00
#SBATCH --signal=B:TERM@120
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=regard-%j.log
set -euo pipefail

folder=${RUN_FOLDER:-runs/$SLURM_JOB_NAME}
head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)

srun torchrun \
  --nnodes "$SLURM_NNODES" \
  --nproc-per-node "${SLURM_GPUS_ON_NODE:-4}" \
  --rdzv-backend c10d \
  --rdzv-endpoint "$head:29500" \
  --rdzv-id "$SLURM_JOB_ID" \
  --max-restarts 3 \
  -m regard train "$@" --out "$folder" --preset vaswani2017-base &

child=$!
trap 'kill -TERM "$child"; wait "$child" || true; scontrol requeue "$SLURM_JOB_ID"' TERM
wait "$child"
