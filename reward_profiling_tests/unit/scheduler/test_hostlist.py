import pytest

from reward_profiling.scheduler.hostlist import expand


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", ()),
        ("n1", ("n1",)),
        ("n[1-3]", ("n1", "n2", "n3")),
        ("gpu-a[008-010,7],login", ("gpu-a008", "gpu-a009", "gpu-a010", "gpu-a7", "login")),
        ("r[1-2]n[01-02].x", ("r1n01.x", "r1n02.x", "r2n01.x", "r2n02.x")),
    ],
)
def test_lists_are_written_out(text: str, names: tuple[str, ...]) -> None:
    assert expand(text) == names


@pytest.mark.parametrize("text", ["n[1-3", "n1]", "n[a-b]", "n[[1]]", "n[1-9999999]", "n[]"])
def test_what_is_no_list_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        expand(text)
