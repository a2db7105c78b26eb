"""Wherever a file is cut, each of its lines belongs to exactly one range."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reward_profiling.sweep import row_lines
from reward_profiling.sweep.row_lines import cut, lines_from

CONTENT = st.lists(st.binary(max_size=9) | st.just(b"\n") | st.just(b"\r\n"), max_size=20).map(b"".join)


@given(content=CONTENT, size=st.integers(1, 40))
@settings(deadline=None)
def test_ranges_partition_the_lines(tmp_path_factory: pytest.TempPathFactory, content: bytes, size: int) -> None:
    path = tmp_path_factory.mktemp("lines") / "file"
    path.write_bytes(content)
    found = [line for start, end in cut(0, len(content), size) for line in lines_from(path, start, end)]
    expected = content.split(b"\n")
    whole = [line + b"\n" for line in expected[:-1]] + ([expected[-1]] if expected[-1] else [])
    assert [line for _, line in found] == whole
    assert [offset for offset, _ in found] == [sum(map(len, whole[:number])) for number in range(len(whole))]


def test_a_line_longer_than_ranges_and_buffers_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_lines, "_BUFFER_BYTES", 64)
    path = tmp_path / "file"
    lines = [b"a\n", b"b" * 1000 + b"\n", b"c\n"]
    path.write_bytes(b"".join(lines))
    found = [list(lines_from(path, start, end)) for start, end in cut(0, path.stat().st_size, 100)]
    assert [line for part in found for _, line in part] == lines
    assert [len(part) for part in found] == [2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
