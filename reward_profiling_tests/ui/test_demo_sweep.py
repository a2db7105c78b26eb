"""A person's way through the UI with the demo sweep: the graph, one click that materializes it, and what it shows then.

The sweep is materialized once, by clicking; the tests after that look at it.
"""

import re

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from reward_profiling_tests.ui.browser import TIMEOUT_MS, picture, tab
from reward_profiling_tests.ui.dagster_dev import DagsterDev

pytestmark = [pytest.mark.ui, pytest.mark.timeout(600)]

expect.set_options(timeout=TIMEOUT_MS)

GROUP = "/locations/reward_profiling.definitions/asset-groups/demo"
ASSETS = ("manifest", "tasks", "shards", "rollouts", "profiles")
SHARDS = [f"shard_{number:03}" for number in range(4)]
# Dagster takes up the steps of a backfill every 30 seconds: manifest and tasks, shards and rollouts, profiles.
SWEEP_DEADLINE = 300.0


def open_graph(page: Page, dev: DagsterDev) -> None:
    page.goto(dev.url + GROUP)
    for asset in ASSETS:
        expect(node(page, asset)).to_be_visible()
        expect(node(page, asset)).not_to_contain_text("Loading")


def node(page: Page, asset: str) -> Locator:
    """The box of an asset of this group in the graph; a link to an asset of another group bears another sign."""
    boxes = page.locator("svg foreignObject").filter(has=page.get_by_role("img", name="asset", exact=True))
    return boxes.filter(has=page.get_by_text(asset, exact=True))


def dot(page: Page, shard: str) -> Locator:
    """The coloured dot behind a shard in the list of partitions."""
    return page.get_by_title(shard, exact=True).locator("xpath=../following-sibling::div")


def open_partitions(page: Page, dev: DagsterDev, shard: str = "") -> None:
    page.goto(f"{dev.url}/assets/demo/rollouts?view=partitions&partition={shard}")
    expect(dot(page, SHARDS[-1])).to_be_visible()


def row(page: Page, key: str) -> Locator:
    """The row of a key in the table of metadata."""
    return page.locator("tr").filter(has=page.get_by_role("cell", name=key, exact=True))


def all_materialized(dev: DagsterDev) -> bool:
    """Whether every asset of the group is; a run that failed meanwhile is an error."""
    seen = dev.ask(
        """{ runsOrError(filter: {statuses: [FAILURE, CANCELED]}) { ... on Runs { results { runId } } }
             assetNodes { groupName assetMaterializations(limit: 1) { runId }
                          partitionStats { numMaterialized numPartitions } } }"""
    )
    assert not seen["runsOrError"]["results"], f"a run failed\n{dev.last_lines()}"
    nodes = [each for each in seen["assetNodes"] if each["groupName"] == "demo"]
    assert len(nodes) == len(ASSETS)
    shards = [each["partitionStats"] for each in nodes if each["partitionStats"]]
    filled = all(each["numMaterialized"] == each["numPartitions"] for each in shards)
    return filled and all(each["assetMaterializations"] for each in nodes)


def test_the_graph_shows_the_demo_before_anything_is_materialized(page: Page, dagster_dev: DagsterDev) -> None:
    open_graph(page, dagster_dev)
    for asset in ("manifest", "tasks", "profiles"):
        expect(node(page, asset)).to_contain_text("Never materialized")
    for asset in ("shards", "rollouts"):
        expect(node(page, asset)).to_contain_text("0% filled")
        expect(node(page, asset)).to_contain_text("4 partitions")
    picture(page, "asset_graph_before")
    open_partitions(page, dagster_dev)
    for shard in SHARDS:
        expect(dot(page, shard)).to_have_attribute("style", re.compile("accent-gray"))


@pytest.fixture(scope="module")
def swept(browser: BrowserContext, dagster_dev: DagsterDev) -> DagsterDev:
    """The UI after the demo sweep was materialized by clicking; the graph turns green without a reload."""
    with tab(browser, "swept") as page:
        open_graph(page, dagster_dev)
        page.get_by_role("button", name="Materialize all").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_role("button", name="All", exact=True).click()
        expect(dialog).to_contain_text("4 partitions")
        picture(page, "materialize_dialog")
        dialog.get_by_role("button", name="Launch backfill").click()
        dagster_dev.wait_for(lambda: all_materialized(dagster_dev), "materializing the sweep", SWEEP_DEADLINE)
        for asset in ("manifest", "tasks", "profiles"):
            expect(node(page, asset)).to_contain_text("Materialized")
        for asset in ("shards", "rollouts"):
            expect(node(page, asset)).to_contain_text("100% filled")
        for asset in ("rollouts", "profiles"):
            expect(node(page, asset)).to_contain_text("1 / 1 Passed")
        picture(page, "asset_graph")
        picture(page, "asset_graph_cut", of=page.locator("svg foreignObject"))
    return dagster_dev


def test_every_shard_of_the_rollouts_turns_green(page: Page, swept: DagsterDev) -> None:
    open_partitions(page, swept)
    for shard in SHARDS:
        expect(dot(page, shard)).to_have_attribute("style", re.compile("accent-green"))
    expect(page.get_by_text("Materialized (4)")).to_be_visible()
    expect(page.get_by_text("Missing (0)")).to_be_visible()
    picture(page, "rollouts_partitions")


def test_one_run_serves_all_shards(swept: DagsterDev) -> None:
    answer = swept.ask("{ runsOrError { ... on Runs { results { status assetSelection { path } } } } }")
    runs = [run for run in answer["runsOrError"]["results"] if {"path": ["demo", "rollouts"]} in run["assetSelection"]]
    assert [run["status"] for run in runs] == ["SUCCESS"]


def test_a_shard_shows_its_counts_and_that_it_is_simulated(page: Page, swept: DagsterDev) -> None:
    open_partitions(page, swept, "shard_001")
    for key, value in (("expected", "152"), ("succeeded", "152"), ("outstanding", "0"), ("simulated", "true")):
        expect(row(page, key)).to_contain_text(value)
    table = row(page, "environments").locator("table")
    expect(table.locator("th").first).to_have_text("environment")
    expect(table.get_by_role("row").filter(has_text="geography")).to_contain_text("48")
    picture(page, "rollouts_shard")


def test_the_profiles_show_their_numbers_and_that_they_are_simulated(page: Page, swept: DagsterDev) -> None:
    page.goto(f"{swept.url}/assets/demo/profiles?view=events")
    expect(row(page, "state")).to_contain_text("all 608 rollouts are done (simulated)")
    table = row(page, "environments").locator("table")
    for label in ("geography", "arithmetic", "scheduling"):
        expect(table.get_by_role("row").filter(has_text=label)).to_contain_text("complete, simulated")
    picture(page, "profiles_event")
    page.goto(f"{swept.url}/assets/demo/profiles?view=checks")
    expect(page.get_by_text("all 608 rollouts are done").first).to_be_visible()
    picture(page, "profiles_check")
    page.goto(f"{swept.url}/assets/demo/profiles")
    expect(page.get_by_placeholder("Filter metadata keys")).to_be_visible()
    picture(page, "profiles_overview")
