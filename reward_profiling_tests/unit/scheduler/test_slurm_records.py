"""What Slurm prints is read completely or not at all. The texts are those of real commands (22.05), shortened."""

import pytest

from reward_profiling.scheduler.protocol import Job, JobState
from reward_profiling.scheduler.slurm_records import read_accounting, read_details, read_queue


def queue_record(**changes: str) -> str:
    fields = {
        "jobid": "17",
        "state": "FAILED",
        "exit_code": "768",
        "submittime": "1796031484",
        "starttime": "1796031485",
        "endtime": "1796031490",
        "reason": "NonZeroExitCode",
        "nodelist": "n[1-2]",
        "name": "rp.nick.shard_000.0a",
    }
    return "\x1f".join(f"{value:20}" for value in {**fields, **changes}.values()) + "\x1e\n"


FAILED = Job(
    id="17",
    name="rp.nick.shard_000.0a",
    state=JobState.FAILED,
    reason="NonZeroExitCode",
    nodes=("n1", "n2"),
    submitted_at=1796031484,
    started_at=1796031485,
    ended_at=1796031490,
    exit_code=3,
)


def only(text: str) -> Job:
    (job,) = read_queue(text)
    return job


def test_a_record_of_the_queue() -> None:
    assert only(queue_record()) == FAILED
    assert read_queue("") == ()
    assert [job.id for job in read_queue(queue_record() + queue_record(jobid="18"))] == ["17", "18"]
    assert only("CLUSTER: east\n" + queue_record()) == FAILED


def test_a_forecast_is_no_time_and_a_live_job_has_no_code() -> None:
    pending = only(queue_record(state="PENDING", nodelist="", exit_code="0", reason="Priority"))
    assert (pending.started_at, pending.ended_at, pending.exit_code) == (None, None, None)
    assert (pending.nodes, pending.reason) == ((), "Priority")
    running = only(queue_record(state="RUNNING", exit_code="0", reason="None"))
    assert (running.started_at, running.ended_at, running.exit_code) == (1796031485, None, None)
    assert running.reason == ""


@pytest.mark.parametrize(
    ("word", "state"),
    [
        ("CANCELLED by 0", JobState.CANCELLED),
        ("CANCELLED+", JobState.CANCELLED),
        ("NODE_FAIL", JobState.NODE_FAIL),
        ("OUT_OF_MEMORY", JobState.OUT_OF_MEMORY),
        ("COMPLETING", JobState.COMPLETING),
        ("CONFIGURING", JobState.PENDING),
        ("REQUEUE_HOLD", JobState.PENDING),
        ("STAGE_OUT", JobState.COMPLETING),
    ],
)
def test_words_for_states(word: str, state: JobState) -> None:
    assert only(queue_record(state=word)).state is state


def test_a_word_from_the_future_is_a_live_job() -> None:
    job = only(queue_record(state="REVOKED"))
    assert job.live and "REVOKED" in job.reason


def test_names_of_other_jobs_may_be_anything() -> None:
    name = 'a|b, c\x1fd\n18 COMPLETED "é"'
    assert only(queue_record(name=name)).name == name


def test_a_death_by_signal_is_128_and_more() -> None:
    assert only(queue_record(exit_code="9")).exit_code == 137
    assert only(queue_record(exit_code="0:15")).exit_code == 143


def test_a_cut_list_of_nodes_is_left_out() -> None:
    cut = ("n[1," + "22222," * 200)[:1024]
    assert only(queue_record(nodelist=cut)).nodes == ()


@pytest.mark.parametrize(
    "text",
    [
        queue_record()[:-1],
        queue_record()[:40],
        "slurm_load_jobs error\n",
        queue_record(state="failed?"),
        queue_record(state=""),
        queue_record(jobid="17_[1-3]"),
        queue_record(exit_code="three"),
        queue_record(submittime="2026-11-30T09:30:00"),
        queue_record(nodelist="n[1-"),
        "17\x1fFAILED\x1e\n",
    ],
)
def test_half_an_answer_is_no_answer(text: str) -> None:
    with pytest.raises(ValueError):
        read_queue(text)


def test_a_record_of_accounting() -> None:
    line = "17\x1fCANCELLED by 1000\x1f0:15\x1f1796031484\x1fUnknown\x1f1796031490\x1fNone\x1fNone assigned\x1frp.x\n"
    (job,) = read_accounting(line)
    assert (job.state, job.exit_code, job.started_at, job.nodes) == (JobState.CANCELLED, 143, None, ())
    with pytest.raises(ValueError):
        read_accounting("17|COMPLETED\n")


DETAILS = (
    "JobId=17 JobName=x UserId=y JobState=COMPLETED UserId=root(0) GroupId=root(0) Account=(null) JobState=FAILED "
    "Reason=NonZeroExitCode Dependency=(null) Requeue=0 ExitCode=3:0 SubmitTime=1796031484 StartTime=1796031485 "
    "EndTime=1796031490 NodeList=n[1-2] BatchHost=n1 Command=/x y/job.sh StdOut=/x/log Power= \n"
)


def test_a_record_of_scontrol() -> None:
    plain = DETAILS.replace("JobName=x UserId=y JobState=COMPLETED", "JobName=rp.nick.shard_000.0a")
    assert read_details("JobId=16 JobName=z UserId=root(0) \n" + plain, "17") == FAILED
    with pytest.raises(ValueError):
        read_details(plain, "18")
    with pytest.raises(ValueError):
        read_details(plain.replace("JobState", "State"), "17")


def test_a_name_that_looks_like_a_field_does_not_tell_the_state() -> None:
    assert read_details(DETAILS, "17").state is JobState.FAILED
