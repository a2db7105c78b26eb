"""Do the attempts ledgers tell a story that can have happened?"""

from collections.abc import Iterator
from typing import Any

from reward_profiling.files import read_json_lines
from reward_profiling.launch.ledger import Event
from reward_profiling.sweep.carry import shards_of
from reward_profiling.sweep.completeness import Plan
from reward_profiling.sweep.findings import Check
from reward_profiling.sweep.layout import ShardDir

Record = dict[str, Any]


def check_ledgers(plan: Plan) -> Check:
    """Read every ledger line by line."""
    made = Check("ledgers", "attempts are numbered upwards, end once and one at a time, and no job is in two shards")
    owners: dict[tuple[str, str], str] = {}
    for shard in shards_of(plan):
        records = read_json_lines(shard.attempts)
        made.look(len(records))
        for problem in _problems(records):
            made.find(shard.attempts, problem)
        for problem in _logs(shard, records):
            made.find(shard.logs, problem)
        for job in {(each["scheduler"], each["job_id"]) for each in records if _is_job(each)}:
            if owners.setdefault(job, shard.name) != shard.name:
                made.find(shard.attempts, f"job {job[1]} is in the ledger of {owners[job]} too")
    return made


def _is_job(record: Record) -> bool:
    return record.get("event") in (Event.SUBMITTED, Event.ADOPTED)


def _problems(records: list[Record]) -> Iterator[str]:
    known = {event.value for event in Event}
    last, opened, ended = 0, 0, set[int]()
    for record in records:
        event, number = record.get("event"), record.get("attempt", 0)
        if event not in known:
            yield f"{event!r} is no event"
        elif event == Event.SUBMITTING:
            if number <= last:
                yield f"attempt {number} comes after attempt {last}"
        elif _is_job(record):
            if opened and opened not in ended:
                yield f"attempt {number} began before attempt {opened} ended"
            if number < last or number == opened:
                yield f"attempt {number} began twice"
            opened = number
        elif event == Event.ENDED:
            if number != opened:
                yield f"attempt {number} ended and never began"
            elif number in ended:
                yield f"attempt {number} ended twice"
            ended.add(number)
        last = max(last, number)


def _logs(shard: ShardDir, records: list[Record]) -> Iterator[str]:
    # The folder of the next attempt may be there: it is made before the intent is recorded.
    most = max((each.get("attempt", 0) for each in records), default=0) + 1
    for path in shard.logs.glob("attempt_*"):
        if not path.name[8:].isdigit() or int(path.name[8:]) > most:
            yield f"{path.name} is of no attempt of the ledger"
