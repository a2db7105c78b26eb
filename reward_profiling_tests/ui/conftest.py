"""One UI and one browser for the tests of this lane."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, Page

from reward_profiling_tests.ui.browser import chromium, tab
from reward_profiling_tests.ui.dagster_dev import DagsterDev, raised


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserContext]:
    with chromium(tmp_path_factory.mktemp("profile")) as context:
        yield context


@pytest.fixture(scope="module")
def dagster_dev(browser: BrowserContext, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DagsterDev]:
    """A UI in which nothing is materialized yet. The browser comes first: without one, this lane skips at once."""
    with raised(tmp_path_factory.mktemp("dagster")) as dev:
        yield dev


@pytest.fixture
def page(browser: BrowserContext, request: pytest.FixtureRequest) -> Iterator[Page]:
    with tab(browser, request.node.name) as page:
        yield page
