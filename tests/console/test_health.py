"""The page of health: figures of the server, and the queries that run, which an admin cancels."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from tests.chromium import needs_chromium
from tests.console.page import Console
from tests.gateway.support import Gateway
from tests.gateway.test_running_queries import ASK, NUMBERS, SLOW, post

pytestmark = needs_chromium


def test_figures_of_the_server(console: Console) -> None:
    console.open("#/health")
    console.wait(lambda: "The server is ready." in console.text(".health"))
    datoms = console.wait(
        lambda: [each for each in console.all(".figure") if each.text.startswith("Datoms") and "–" not in each.text]
    )
    assert int(datoms[0].text.split("\n")[1].replace(",", "")) > 10
    titles = [each.text for each in console.all(".health h2")]
    assert titles == [
        "Running queries",
        "Requests",
        "Queries",
        "Live queries",
        "Database",
        "Log and disks",
        "Process",
    ]
    assert console.messages() == []


def test_a_query_that_runs_is_cancelled(console: Console, packages: Gateway) -> None:
    packages.database.transact(NUMBERS)
    console.open("#/health")
    markup = SLOW + " ; <b id=bold>x</b>"
    with ThreadPoolExecutor(1) as client:
        answer = client.submit(post, console.address, ASK, query=markup)
        console.wait(lambda: any(markup in each.text for each in console.all(".running pre")))
        assert console.all("#bold") == []
        console.button("Cancel", ".running").click()
        (error,) = answer.result()["errors"]
    assert error["extensions"]["code"] == "CANCELLED"
    console.wait(lambda: console.all(".running li") == [])


def test_figures_that_workers_share_are_not_added_up(console: Console) -> None:
    text = (
        'adalog_basis_t{worker="0"} 7\nadalog_basis_t{worker="1"} 7\n'
        'adalog_queries_running{worker="0"} 2\nadalog_queries_running{worker="1"} 3\n'
    )
    console.script(
        "const [text, own] = [arguments[0], window.fetch];"
        "window.fetch = (at, ...more) =>"
        " at === 'metrics' ? Promise.resolve(new Response(text)) : own(at, ...more);",
        text,
    )
    console.one("nav a[href='#/health']").click()

    def figures() -> dict[str, str]:
        return dict(each.text.split("\n") for each in console.all(".figure"))

    console.wait(lambda: figures().get("Running") == "5")
    assert figures()["Transaction"] == "7"
