#!/usr/bin/env bash
#
# Attempt 2 at shard_003 of the sweep blend: collects the rollouts that are outstanding when it
# starts. Rendered by reward-profiling; the copy that ran is kept beside the logs of its attempt.
#
# By hand: `bash job.sh` is the whole job, and `RP_HEAD_PORT=21000 bash job.sh gym-servers` one part of it in the
# foreground. The parts are the functions below.
#
#SBATCH --job-name=rp.blend.shard_003.1e6799e8
#SBATCH --output=/data/sweeps/blend/shards/shard_003/logs/attempt_002/job.log
#SBATCH --open-mode=append
#SBATCH --dependency=singleton
#SBATCH --no-requeue
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --time=04:00:00
#SBATCH --exclusive
#SBATCH --signal=B:USR1@300

set -euo pipefail

# ---------------------------------------------------------------- what this job is about
# The names begin with RP_ because files of the user's are sourced further down.
RP_PART=${1:-job}
RP_SWEEP=/data/sweeps/blend
RP_SHARD=3
RP_ATTEMPT=2
RP_LOGS=/data/sweeps/blend/shards/shard_003/logs/attempt_002
# The interpreter of the environment that submitted this job; it must be visible from the node.
RP_PYTHON=/opt/rp/bin/python
RP_GYM=(
    /opt/rp/bin/python
    -P
    -m
    reward_profiling.simulate
)

# ---------------------------------------------------------------- what all parts have in common
# The submitting shell's Python must not leak into Gym's or the engine's.
unset PYTHONPATH PYTHONHOME VIRTUAL_ENV CONDA_PREFIX
# Thousands of rollouts in flight are thousands of open sockets.
ulimit -S -n "$(ulimit -H -n)" || true
# Configs that include others find them where they were found when the sweep was validated.
export NEMO_GYM_EXTRA_ROOTS=/home/someone/manifests:/home/someone/gym

die() {
    printf 'job.sh: %s\n' "$*" >&2
    exit 1
}

# Become the given command, in a folder of its own: Gym merges an env.yaml that lies in its working directory, and
# leaves files there.
become() {
    local folder=$RP_LOGS/$1.work
    shift
    mkdir -p -- "$folder"
    cd -- "$folder"
    printf 'running in %q:' "$folder"
    printf ' %q' "$@"
    printf '\n'
    exec "$@"
}

# ---------------------------------------------------------------- the policy
# None: the collector stand-in asks no policy, and every row it writes is marked as simulated.
RP_POLICY_OPTIONS=()

# ---------------------------------------------------------------- the model, as the manifest describes it
# Overrides for Gym's side of it, such as the sampling; they go to the servers.
GYM_MODEL_PARAMS=()

# ---------------------------------------------------------------- NeMo Gym
# The servers: every environment of the sweep, its agents, and the model server that asks the policy. A head port of
# this job's own, because on a taken one somebody else's Gym would answer.
gym_servers() {
    local command=(
        "${RP_GYM[@]}" env start
        --config /data/sweeps/blend/sweep_config.yaml
        '++policy_model_name="org/model-7b"'
        '++policy_base_url="https://policy.example.org/v1"'
        "++head_server.host=127.0.0.1"
        "++head_server.port=${RP_HEAD_PORT:?is the port of the head server}"
        "++server_spinup_timeout_seconds=3600"
        "${GYM_MODEL_PARAMS[@]}"
        hydra.run.dir=. hydra.output_subdir=null
    )
    become gym-servers "${command[@]}"
}

# The collector: goes on from the shard's files, and appends. The work list holds every repeat, hence num_repeats=1.
collector() {
    local command=(
        "${RP_GYM[@]}" eval run --no-serve --resume
        --input /data/sweeps/blend/shards/shard_003/rollouts_materialized_inputs.jsonl
        --output /data/sweeps/blend/shards/shard_003/rollouts.jsonl
        --concurrency 512
        "++num_repeats=1"
        ++disable_aggregation=true
        ++route_failures_to_sidecar=true
        ++retain_results_in_memory=false
        "++head_server.host=127.0.0.1"
        "++head_server.port=${RP_HEAD_PORT:?is the port of the head server}"
        hydra.run.dir=. hydra.output_subdir=null
    )
    become collector "${command[@]}"
}

gym_version() {
    exec "${RP_GYM[@]}" --version
}

# ---------------------------------------------------------------- the job
# Repairs torn tails, starts the parts above in order, watches them together, stops them together, and writes the exit
# record. It takes this script's place, so that signals of the scheduler reach it.
job() {
    [[ -x $RP_PYTHON ]] || die "there is no $RP_PYTHON on $(uname -n); submit from an environment that nodes see"
    mkdir -p -- "$RP_LOGS"
    # The scheduler runs a copy of its own, which no other node sees and which ends with the job.
    [[ ${BASH_SOURCE[0]} -ef $RP_LOGS/job.sh ]] || cp -- "${BASH_SOURCE[0]}" "$RP_LOGS/job.sh"
    local command=(
        "$RP_PYTHON" -P -m reward_profiling.launch.inside
        --script "$RP_LOGS/job.sh"
        --sweep "$RP_SWEEP" --shard "$RP_SHARD" --attempt "$RP_ATTEMPT"
        --model=org/model-7b
        "${RP_POLICY_OPTIONS[@]}"
        --simulated
        --ready-timeout 3600
        --endpoint-timeout 120
        --stall-after 3600
        --probe-interval 30
        --probe-misses 10
    )
    cd -- "$RP_LOGS"
    exec "${command[@]}"
}

case $RP_PART in
    job) job ;;
    gym-servers) gym_servers ;;
    collector) collector ;;
    gym-version) gym_version ;;
    *) die "no part is called $RP_PART" ;;
esac
