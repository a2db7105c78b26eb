"""No text of a manifest becomes shell: a job passes each value on as it is, or rendering refuses it."""

import re
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from reward_profiling.errors import LaunchError
from reward_profiling.launch.gym_command import GymCommand
from reward_profiling.launch.overrides import override
from reward_profiling.launch.policy_settings import Endpoint, Engine
from reward_profiling.launch.quoting import sbatch_option, shell_word
from reward_profiling.launch.settings import JobSettings
from reward_profiling.sweep.layout import SweepDir
from reward_profiling_tests.scripts import Stubs

CANARY = "canary"
_ATTACKS = st.sampled_from(
    [
        f"$(touch {CANARY})",
        f"`touch {CANARY}`",
        f"; touch {CANARY} #",
        f"\ntouch {CANARY}\n",
        f"' ; touch {CANARY} ; '",
        f'" ; touch {CANARY} ; "',
        f"'\"; touch {CANARY}; \"'",
        f"\\'; touch {CANARY}; \\'",
        f"& touch {CANARY} &",
        f"| touch {CANARY}",
        f"<(touch {CANARY})",
        f"${{x:=$(touch {CANARY})}}",
        f"$((a[$(touch {CANARY})]))",
        f"\r\ntouch {CANARY}",
        f"EOF\ntouch {CANARY}\nEOF",
        f"\n#SBATCH --wrap='touch {CANARY}'",
        "{{ 7 * 7 }}",
        "{% raw %}",
        "$HOME",
        "~",
        "*",
        "{a,b}",
        "!!",
        "%s%n",
        "\\",
        "\\\n",
        "é ü 中 🙂 \u202e \u2028",
        "--output=/dev/null",
        "",
        " ",
        "\x1b[2J",
    ]
)
_UNPASSABLE = re.compile(r"[\x00\ud800-\udfff]")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029\ud800-\udfff]")
anything = st.lists(_ATTACKS | st.text(max_size=8), min_size=1, max_size=3).map("".join)
texts = anything.map(lambda text: _UNPASSABLE.sub("?", text))
lines = anything.map(lambda text: _UNPRINTABLE.sub("?", text))
folders = lines.map(lambda text: "x" + text.replace("/", "|").replace("${", "$ {")[:40])


@st.composite
def job_settings(draw: st.DrawFn) -> tuple[JobSettings, bool]:
    """Settings all of whose texts are hostile; True for an engine, False for an endpoint."""
    serves = draw(st.booleans())
    engine = Engine(8, tuple(draw(st.lists(texts, max_size=2))), {"RP_TEST_VALUE": draw(texts)})
    settings = JobSettings(
        gym=GymCommand(("gym", draw(texts))),
        policy=engine if serves else Endpoint(f"http://{draw(texts)}"),
        model=draw(texts),
        concurrency=4,
        options={"comment": draw(lines), "time": draw(lines), "exclusive": None},
        server_overrides=(override("policy_model_name", draw(lines)), override("a.b", {"c": [draw(lines), 1, None]})),
        model_params=(f"++x={draw(texts)}",),
        collector_overrides=(override("note", draw(lines)),),
        search_path=draw(texts),
    )
    return settings, serves


@hypothesis_settings(
    max_examples=30,
    deadline=None,
    derandomize=True,
    phases=(Phase.explicit, Phase.generate),  # each example starts processes: a failing one is not worth shrinking
    suppress_health_check=[HealthCheck.too_slow],
)
@given(st.data())
def test_nothing_of_a_manifest_is_executed(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        stubs = Stubs(Path(folder) / "stubs")
        for name in ("gym", "vllm"):
            stubs.program(name)
        sweep = SweepDir(Path(folder) / data.draw(folders) / data.draw(folders))
        settings, serves = data.draw(job_settings())
        _check(stubs, sweep, settings, serves)
        assert not list(Path(folder).rglob(CANARY))


@hypothesis_settings(max_examples=60, deadline=None, derandomize=True)
@given(st.sampled_from(["\x00", "\ud800", "a\x00b"]), anything)
def test_what_no_program_can_be_given_is_refused(unpassable: str, text: str) -> None:
    with pytest.raises(LaunchError):
        shell_word(text + unpassable)
    for broken in (f"{unpassable}{text}", f"{text}\n#SBATCH --wrap=x"):
        with pytest.raises(LaunchError):
            sbatch_option("comment", broken)


def _check(stubs: Stubs, sweep: SweepDir, settings: JobSettings, serves: bool) -> None:
    """Every part gets every text exactly as it is."""
    job = stubs.run(sweep, settings, "job")
    assert f"--model={settings.model}" in job.arguments
    servers = stubs.run(sweep, settings, "gym-servers", RP_HEAD_PORT="1", RP_POLICY_URL="http://u")
    assert servers.arguments[0] == settings.gym.argv[1]
    for argument in (*settings.server_overrides, *settings.model_params):
        assert argument in servers.arguments
    assert servers.environment.get("NEMO_GYM_EXTRA_ROOTS", "") == settings.search_path
    collector = stubs.run(sweep, settings, "collector", RP_HEAD_PORT="1")
    assert settings.collector_overrides[0] in collector.arguments
    if not serves:
        assert isinstance(settings.policy, Endpoint)
        assert f"--policy-url={settings.policy.url}" in job.arguments
        return
    assert isinstance(settings.policy, Engine)
    engine = stubs.run(sweep, settings, "policy", RP_POLICY_PORT="1")
    assert engine.arguments[:2] == ["serve", settings.model]
    assert engine.arguments[8:] == list(settings.policy.args)
    assert engine.environment["RP_TEST_VALUE"] == settings.policy.environment["RP_TEST_VALUE"]
    subprocess.run(["bash", "-n", str(stubs.script)], check=True)
