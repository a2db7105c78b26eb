"""Every row of a dataset is indexed once, with its exact bytes, wherever ranges cut the file."""

from pathlib import Path

import orjson
import pytest

from reward_profiling.errors import DatasetError
from reward_profiling.sweep import sources
from reward_profiling.sweep.rows import RowRule
from reward_profiling.sweep.sources import Source, SourceIndex, content_hash, index_sources
from reward_profiling_tests.sweeps import source_row, write_rows

RULE = RowRule("agent_a")


def index_source(path: Path, rule: RowRule, *, jobs: int = 1) -> SourceIndex:
    (index,) = index_sources([Source(path, rule)], jobs=jobs)
    return index


def _bodies(path: Path, index: sources.SourceIndex) -> list[bytes]:
    content = path.read_bytes()
    return [
        content[offset : offset + length]
        for offset, length in index.rows.select("byte_offset", "byte_length").iter_rows()
    ]


def test_rows_are_the_non_blank_lines_without_surrounding_space(tmp_path: Path) -> None:
    rows = [orjson.dumps(source_row("a", number)) for number in range(4)]
    content = b"\xef\xbb\xbf" + rows[0] + b"\r\n\n   \r\n  " + rows[1] + b"  \n" + rows[2] + b"\n\n" + rows[3]
    path = tmp_path / "odd.jsonl"
    path.write_bytes(content)
    index = index_source(path, RULE)
    assert _bodies(path, index) == rows
    assert index.rows["content_hash"].to_list() == [content_hash(row) for row in rows]
    assert index.rows["verbatim"].all()


@pytest.mark.parametrize("jobs", [1, 2])
def test_ranges_give_what_one_pass_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int) -> None:
    path = write_rows(tmp_path / "rows.jsonl", [source_row("a", number) for number in range(60)])
    whole = index_source(path, RULE)
    for size in (1, 7, 155, 1024):
        if jobs > 1 and size < 1024:
            continue
        monkeypatch.setattr(sources, "RANGE_BYTES", size)
        monkeypatch.setattr(sources, "_ALONE_BYTES", 0)
        assert index_source(path, RULE, jobs=jobs).rows.equals(whole.rows)


def test_a_bad_row_is_named_by_its_line_whatever_the_ranges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = orjson.dumps(source_row("a", 0)) + b"\n"
    path = write_rows(tmp_path / "rows.jsonl", [good, b"\n", good, b"{broken\n", good, b"[1]\n"])
    for size in (1 << 20, 40):
        monkeypatch.setattr(sources, "RANGE_BYTES", size)
        with pytest.raises(DatasetError, match=r"rows\.jsonl:4: not JSON"):
            index_source(path, RULE)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (b"[1]", "not a JSON object"),
        (b'{"agent_ref": {"name": "agent_a"}}', "no responses_create_params object"),
        (b'{"responses_create_params": {}}', "no agent_ref.name; set agent_ref_override: agent_a"),
        (b'{"responses_create_params": {}, "agent_ref": null}', "no agent_ref.name"),
        (
            b'{"responses_create_params": {}, "agent_ref": {"name": "agent_b"}}',
            "belongs to agent 'agent_b', the entry to 'agent_a'",
        ),
    ],
)
def test_what_gym_could_not_dispatch_is_refused(tmp_path: Path, row: bytes, message: str) -> None:
    path = write_rows(tmp_path / "rows.jsonl", [row + b"\n"])
    with pytest.raises(DatasetError, match=message) as refusal:
        index_source(path, RULE)
    assert str(refusal.value).startswith(f"{path}:1: ")


def test_a_missing_and_an_empty_dataset_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="cannot be read: No such file"):
        index_source(tmp_path / "none.jsonl", RULE)
    with pytest.raises(DatasetError, match="has no rows"):
        index_source(write_rows(tmp_path / "empty.jsonl", [b"\n\n"]), RULE)


def test_rows_with_our_keys_or_another_agent_are_not_verbatim(tmp_path: Path) -> None:
    rows = [source_row("a", 0), source_row("a", 1) | {"_ng_task_index": 9}, source_row("a", 2, "agent_b")]
    path = write_rows(tmp_path / "rows.jsonl", rows)
    index = index_source(path, RowRule("agent_a", override="agent_a"))
    assert index.rows["verbatim"].to_list() == [True, False, False]


def test_a_line_of_a_hundred_megabytes_is_a_row(tmp_path: Path) -> None:
    rows = [source_row("a", 0), source_row("a", 1) | {"long": "x" * (100 << 20)}, source_row("a", 2)]
    path = write_rows(tmp_path / "rows.jsonl", rows)
    index = index_source(path, RULE)
    assert index.rows["byte_length"].to_list() == [len(orjson.dumps(row)) for row in rows]


def test_several_datasets_come_in_the_order_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [
        write_rows(tmp_path / f"{count}.jsonl", [source_row("a", number) for number in range(count)])
        for count in (40, 3, 20)
    ]
    monkeypatch.setattr(sources, "RANGE_BYTES", 1000)
    monkeypatch.setattr(sources, "_ALONE_BYTES", 0)
    indexes = list(index_sources([Source(path, RULE) for path in paths], jobs=2))
    assert [(index.path, index.rows.height) for index in indexes] == list(zip(paths, (40, 3, 20), strict=True))


def test_a_dataset_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(5, "Input/output error")

    good, bad = (write_rows(tmp_path / f"{name}.jsonl", [source_row("a", 0)]) for name in ("good", "bad"))
    real = sources.lines_from
    monkeypatch.setattr(
        sources, "lines_from", lambda path, start, end: fail() if path == bad else real(path, start, end)
    )
    with pytest.raises(DatasetError, match=r"bad\.jsonl: the dataset cannot be read: Input/output error"):
        list(index_sources([Source(good, RULE), Source(bad, RULE)]))
