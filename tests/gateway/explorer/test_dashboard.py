"""The Grafana dashboard asks for metrics that there are, with labels that they have."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from adalog.gateway.opening import open_database, start_pool
from adalog.gateway.settings.config import Settings
from tests.gateway.support import Gateway

DASHBOARD = Path(__file__).parents[3] / "helm" / "adalog" / "dashboards" / "adalog.json"
QUERY = "[:find ?i :where [_ :db/ident ?i]]"


def charts() -> Iterator[dict[str, Any]]:
    for panel in json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]:
        if panel["type"] != "row":
            yield panel


@pytest.fixture(scope="module")
def samples() -> dict[str, set[str]]:
    """The metrics of a gateway on which everything is on, each with its labels."""
    settings = Settings(data=":memory:", rate_units=1e9)
    with open_database(settings) as database:
        pool = start_pool(database, settings, spark=False)
        try:
            opened = Gateway(database, pool, settings)
            with opened.app.state.hub:
                opened.data('mutation { transact(tx: "[[:db/add 1 :a 1]]") { t } }')
                opened.q(QUERY)
                text = opened.http.get("/metrics").text
            opened.http.close()
        finally:
            pool.close()
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(text):
        if family.type == "counter":
            found.setdefault(f"{family.name}_total", set())
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


# Of metrics that have no sample before something went wrong.
QUIET = {
    "adalog_live_events_total": {"kind"},
    "adalog_log_failures_total": {"outcome"},
    "adalog_streams": {"protocol"},
    # Of a database in memory.
    "adalog_disk_free_bytes": {"place"},
    "adalog_disk_bytes": {"place"},
    "adalog_last_backup_timestamp_seconds": set(),
    "adalog_connections_refused_total": {"why"},
}


@pytest.mark.parametrize("chart", list(charts()), ids=lambda chart: chart["title"])
def test_charts_show_metrics_that_there_are(chart: dict[str, Any], samples: dict[str, set[str]]) -> None:
    assert chart["targets"]
    for target in chart["targets"]:
        text = target["expr"]
        named = re.findall(r"((?:adalog|process)_\w+)\{([^}]*)\}", text)
        assert named
        assert len(named) == len(re.findall(r"(?:adalog|process)_\w+", text)), (
            "each metric is of the chosen job and instance"
        )
        for name, selector in named:
            assert name in samples or name in QUIET, name
            labels = set(re.findall(r"(\w+)=", selector)) | set(re.findall(r"(\w+)!=", selector))
            by = {each for part in re.findall(r"by \(([^)]*)\)", text) for each in part.split(", ")}
            known = samples.get(name, set()) | QUIET.get(name, set()) | {"job", "instance"}
            assert labels | by <= known, (name, labels | by, known)
        shown = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
        assert shown <= {each for part in re.findall(r"by \(([^)]*)\)", text) for each in part.split(", ")}
        assert text.count("(") == text.count(")")


def test_alerts_and_documents_name_metrics_that_there_are(samples: dict[str, set[str]]) -> None:
    """Those of the chart's PrometheusRule, and of the page for operators."""
    rules = (DASHBOARD.parents[1] / "templates" / "monitoring.yaml").read_text(encoding="utf-8")
    asked = set(re.findall(r"\badalog_\w+", rules))
    assert asked
    page = (DASHBOARD.parents[3] / "docs" / "how-to" / "monitoring.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(adalog_\w+)`", page))
    # Workers have these in their sum, and counters their name without `_total` in the text of the format.
    of_workers = {"adalog_workers", "adalog_workers_ready", "adalog_worker_restarts_total"}
    known = samples.keys() | {name.removesuffix("_bucket") for name in samples} | of_workers | QUIET.keys()
    assert asked | named <= known, (asked | named) - known


def test_panels_do_not_lie_upon_each_other() -> None:
    panels = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        assert max(x for x, _ in cells) < 24
        taken |= cells
