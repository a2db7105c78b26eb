"""Names that the commands behind the free-form blocks know: a key near one of them is a slip, not an extension."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


SBATCH_OPTIONS = _words(
    """
    account acctg_freq array batch bb bbf begin chdir cluster_constraint clusters comment constraint container
    container_id contiguous core_spec cores_per_socket cpu_freq cpus_per_gpu cpus_per_task deadline delay_boot
    dependency distribution error exclude exclusive export export_file extra extra_node_info get_user_env gid gpu_bind
    gpu_freq gpus gpus_per_node gpus_per_socket gpus_per_task gres gres_flags help hint hold ignore_pbs input job_name
    kill_on_invalid_dep licenses mail_type mail_user mcs_label mem mem_bind mem_per_cpu mem_per_gpu mincpus network
    nice no_kill no_requeue nodefile nodelist nodes ntasks ntasks_per_core ntasks_per_gpu ntasks_per_node
    ntasks_per_socket open_mode output overcommit oversubscribe parsable partition power prefer priority profile
    propagate qos quiet reboot requeue reservation resv_ports segment signal sockets_per_node spread_job stepmgr
    switches test_only thread_spec threads_per_core time_min timelimit tmp tres_bind tres_per_task uid usage
    use_min_nodes verbose version wait wait_all_nodes wckey wrap
    """
)
"""Long options of `sbatch`, with underscores; `--time` is called `timelimit`, after its variable SBATCH_TIMELIMIT."""

SBATCH_FLAGS = _words(
    "contiguous exclusive hold ignore_pbs overcommit oversubscribe reboot spread_job stepmgr use_min_nodes"
)
"""Options that stand without a value."""

SBATCH_OWNED = _words(
    """
    array dependency error help input job_name no_requeue open_mode output parsable quiet requeue test_only usage
    verbose version wait wrap
    """
)
"""Options on which the job of a shard depends, and options that submit nothing; a manifest may not set them."""

SBATCH_ENVIRONMENT = {
    "timelimit": "SBATCH_TIME",
    "core_spec": "SBATCH_CORE_SPEC",
    "cpu_freq": "SBATCH_CPU_FREQ_REQ",
    "mem": "SBATCH_MEM_PER_NODE",
    "switches": "SBATCH_REQ_SWITCH",
}
"""Options that a variable of another name sets, too (sbatch(1), INPUT ENVIRONMENT VARIABLES)."""

GYM_SERVER_TYPES = frozenset(
    {"responses_api_models", "resources_servers", "responses_api_agents", "environment_servers"}
)
"""The kinds of server that one instance in a NeMo Gym config may be."""

GYM_START_KEYS = _words(
    """
    config_paths policy_base_url policy_model_name policy_api_key policy_model port_range_low port_range_high
    head_server uv_venv_dir skip_venv_if_present server_spinup_timeout_seconds
    model_endpoint_readiness_timeout_seconds nemo_gym_log_dir ray_head_node_address
    """
)
"""Keys that `gym env start` reads itself (Gym contract 2)."""

GYM_RUN_KEYS = _words(
    """
    num_repeats num_samples_in_parallel route_failures_to_sidecar retain_results_in_memory max_resident_rollout_tasks
    dispatch_budget_s drain_margin_s dispatch_longest_first require_complete retry_terminal_timeouts
    count_failure_classes_as_zero count_missing_rollouts_as_zero disable_aggregation
    """
)
"""Keys that `gym eval run` reads and a sweep may set (Gym contract 3)."""

GYM_RUN_IGNORED = {
    "limit": "set `materialize.limit_per_entry` or the entry's `limit`",
    "agent_name": "set the entry's `agent_ref_override`",
    "agent_map": "set the entry's `agent_ref_override`",
    "fan_out": "write one entry per agent",
    "num_repeats_add_seed": "remove it",
    "prompt_config": "write the prompts into the dataset",
    "responses_create_params": "set sampling under `gym_env_start`, in `policy_model`",
}
"""Keys of `gym eval run` that it ignores when it resumes from a work list (Gym contract 3.2), and where to say it."""

GYM_RUN_OWNED = _words(
    """
    input_jsonl_fpath output_jsonl_fpath resume_from_cache resume head_server config_paths policy_base_url
    policy_model_name policy_api_key
    """
)
"""Keys of `gym eval run` that the job sets itself."""
