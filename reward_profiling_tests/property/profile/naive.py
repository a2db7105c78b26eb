"""The profile once more, as the contract's section 6 reads: plain loops, exact sums, nothing shared with the package.

Slow and simple on purpose; it knows no bad input.
"""

import statistics
from collections.abc import Callable, Sequence
from math import sqrt
from typing import Any

from scipy import stats

Row = dict[str, Any]
Number = int | float
Key = tuple[int, int]

STATISTICS = ("mean", "max", "min", "median", "std")
ENDINGS = """/max /min /median /p5 /p25 /p75 /p95 /ci_low_95 /ci_high_95 /ci_lower /ci_upper _ci_lower _ci_upper
_ci95_lower _ci95_upper /_ng_attempt_index /std_dev_across_runs /std_err_across_runs /avg_sample_std_dev"""


def key_of(row: Row) -> Key:
    return row["_ng_task_index"], row["_ng_rollout_index"]


def is_number(value: Any) -> bool:
    return isinstance(value, int | float)


class NaiveProfile:
    """The three outputs as lists of objects."""

    def __init__(self, work: Sequence[Row], rollouts: Sequence[Row]) -> None:
        every = {key_of(row): row for row in rollouts}
        masked = {key for key, row in every.items() if row.get("mask_sample")}
        self.work = {key_of(row): row for row in work if key_of(row) not in masked}
        self.results = {key: every[key] for key in sorted(every) if key not in masked}
        self.labels = self._labels()
        self.columns = self._columns()
        self.whole = all(
            all(isinstance(self.numbers(row).get(name), int) for row in self.results.values()) for name in self.columns
        )
        self.repeats = self._repeats()
        self.groups = self._groups()
        self.agents = self._agents({key_of(row): row for row in work}, every, masked)

    def _labels(self) -> dict[Key, str | None]:
        run_keys = {key: self._run_key(row) for key, row in self.work.items()}
        agents: dict[str, str | None] = {}
        for key, row in self.work.items():
            run_key = run_keys[key]
            if run_key is not None and run_key not in agents:
                agents[run_key] = row.get("agent_ref", {}).get("name")
        labels: dict[str | None, str | None] = {None: None}
        for run_key, agent in agents.items():
            alone = agent is not None and list(agents.values()).count(agent) == 1
            labels[run_key] = agent if alone else run_key
        while True:
            values = list(labels.values())
            clashing = [run_key for run_key in labels if values.count(labels[run_key]) > 1]
            if not clashing:
                return {key: labels[run_key] for key, run_key in run_keys.items()}
            labels |= {run_key: run_key for run_key in clashing}

    @staticmethod
    def _run_key(row: Row) -> str | None:
        server = row.get("_ng_environment_server")
        return row.get("agent_ref", {}).get("name") if server is None else server

    @staticmethod
    def usage(result: Row) -> Row:
        return (result.get("response") or {}).get("usage") or {}

    def numbers(self, result: Row) -> dict[str, Number]:
        merged = {name: value for name, value in result.items() if name != "mask_sample"}
        merged.update(self.usage(result))
        return {
            name: int(value) if isinstance(value, bool) else value
            for name, value in merged.items()
            if not name.startswith("_") and is_number(value)
        }

    def _columns(self) -> list[str]:
        columns: list[str] = []
        for result in self.results.values():
            columns += [name for name in self.numbers(result) if name not in columns]
        return columns

    def statistics(self, keys: Sequence[Key]) -> dict[str, Number]:
        values = {
            name: [numbers[name] for key in keys if name in (numbers := self.numbers(self.results[key]))]
            for name in self.columns
        }
        spread = any(len(column) > 1 for column in values.values())
        measures: dict[str, Callable[[list[Number]], Number | None]] = {
            "mean": lambda column: float(statistics.mean(column)),
            "max": lambda column: max(column) if self.whole else float(max(column)),
            "min": lambda column: min(column) if self.whole else float(min(column)),
            "median": lambda column: float(statistics.median(column)),
            "std": lambda column: self._std(column, len(keys), spread),
        }
        found = {
            f"{measure}/{name}": measures[measure](values[name])
            for measure in STATISTICS
            for name in self.columns
            if values[name]
        }
        return {name: value for name, value in found.items() if value is not None}

    @staticmethod
    def _std(column: list[Number], rollouts: int, spread: bool) -> float | None:
        if len(column) > 1:
            return float(statistics.stdev(column))
        return 0.0 if not spread and len(column) == rollouts else None

    def _groups(self) -> list[Row]:
        pairs = {(key[0], self.labels[key]) for key in self.work}
        fanned_out = len(pairs) > len({task for task, _ in pairs})
        if fanned_out:
            groups = sorted((task, label) for task, label in pairs if label is not None)
        else:
            groups = [(task, None) for task in sorted({task for task, _ in pairs})]
        rows = []
        for task, label in groups:
            wanted = [key for key in self.work if key[0] == task and (not fanned_out or self.labels[key] == label)]
            present = [key for key in self.results if key in wanted]
            if present:
                rows.append(self._group(present, len(wanted), label))
        return rows

    def _group(self, present: list[Key], expected: int, label: str | None) -> Row:
        row: Row = {"_ng_task_index": present[0][0], **self.statistics(present)}
        if label is not None:
            row["agent_ref"] = {"name": label}
        indices = ("_ng_task_index", "_ng_rollout_index")
        row["sample"] = {name: value for name, value in self.work[min(present)].items() if name not in indices}
        row["num_rollouts"] = len(present)
        row["expected_num_rollouts"] = expected
        row["missing_num_rollouts"] = expected - len(present)
        row["reward_profile_completion_pct"] = 100 * len(present) / expected
        row["rollout_infos"] = [self._info(key) for key in present]
        return row

    def _info(self, key: Key) -> Row:
        result = self.results[key]
        info: Row = {"rollout_id": f"{key[0]}:{key[1]}", "_ng_task_index": key[0], "_ng_rollout_index": key[1]}
        if "reward" in result:
            info["reward"] = result["reward"]
        for name, value in self.usage(result).items():
            if is_number(value):
                info[name] = int(value) if isinstance(value, bool) else value
        for name, value in result.items():
            skipped = name.startswith("_") or name in ("reward", "response", "mask_sample")
            if not skipped and is_number(value):
                info[name] = int(value) if isinstance(value, bool) else value
        return info

    def _keys_of_label(self, label: str) -> list[Key]:
        return [key for key in self.results if self.labels[key] == label]

    def _measured_labels(self) -> list[str]:
        return sorted({label for key in self.results if (label := self.labels[key]) is not None})

    def _repeats(self) -> list[Row]:
        rows = []
        for label in self._measured_labels():
            keys = self._keys_of_label(label)
            indices = sorted({rollout for _, rollout in keys})
            for index in indices if len(indices) > 1 else []:
                here = [key for key in keys if key[1] == index]
                row: Row = {"agent_ref": {"name": label}, "_ng_rollout_index": index, "sample_count": len(here)}
                row["missing_count"] = len({task for task, _ in keys}) - len(here)
                for name in sorted(self.columns):
                    column = [self.numbers(self.results[key]).get(name) for key in here]
                    row.update(self._describe(name, [float(value) for value in column if value is not None]))
                rows.append(row)
        return rows

    @staticmethod
    def _estimate(values: list[float]) -> tuple[float, float, float, list[float]]:
        mean = statistics.mean(values)
        std = statistics.stdev(values) if len(values) > 1 else 0.0
        error = std / sqrt(len(values))
        if len(values) == 1:
            return mean, std, error, []
        reach = stats.t.ppf(0.975, len(values) - 1) * error
        return mean, std, error, [float(mean - reach), float(mean + reach)]

    def _describe(self, name: str, values: list[float]) -> Row:
        if not values:
            return {}
        mean, std, error, interval = self._estimate(values)
        quartiles = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
        keys = ("mean", "median", "std", "sem", "min", "max", "p25", "p75", "ci_low_95", "ci_high_95")
        numbers = [mean, statistics.median(values), std, error, min(values), max(values), quartiles[0], quartiles[2]]
        return {f"{key}/{name}": number for key, number in zip(keys, numbers + interval, strict=False)}

    def _across(self, label: str) -> Row:
        observed: list[str] = []
        for row in self.repeats:
            observed += [key for key in row if key.startswith("mean/") and key not in observed]
        block: Row = {}
        for key in observed:
            values = [row[key] for row in self.repeats if row["agent_ref"]["name"] == label and key in row]
            if not values or key.endswith(tuple(ENDINGS.split())):
                continue
            mean, std, error, interval = self._estimate(values)
            names = ("mean", "median", "std", "min", "max", "se", "ci_low_95", "ci_high_95")
            numbers = [mean, statistics.median(values), std, min(values), max(values), error]
            block |= {f"{n}_across_repeats/{key}": value for n, value in zip(names, numbers + interval, strict=False)}
        return block

    def _agents(self, work: dict[Key, Row], every: dict[Key, Row], masked: set[Key]) -> list[Row]:
        coverages: dict[str, Row] = {}
        names = {key: work[key].get("agent_ref", {}).get("name") for key in every}
        for name in dict.fromkeys(names[key] for key in sorted(every)):
            keys = [key for key in every if names[key] == name]
            dropped = [key for key in keys if key in masked]
            measured = [key for key in keys if key not in masked]
            if name is not None and dropped:
                tasks = {task for task, _ in measured}
                coverages[name] = {
                    "coverage/measured_rollouts": len(measured),
                    "coverage/masked_rollouts": len(dropped),
                    "coverage/measured_tasks": len(tasks),
                    "coverage/fully_masked_tasks": len({task for task, _ in dropped} - tasks),
                }
        objects = []
        for label in self._measured_labels():
            blocks = self.statistics(self._keys_of_label(label))
            reference = {"agent_ref": {"name": label}}
            objects.append({**blocks, **reference, **self._across(label), **coverages.pop(label, {})})
        return objects + [{"agent_ref": {"name": name}, **coverage} for name, coverage in coverages.items()]
