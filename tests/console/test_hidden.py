"""With permissions on: no part of the page shows a reader, or is sent, what policies hide from the reader.

Each part is opened as an admin first, to whom the server sends what is hidden from others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from selenium import webdriver
from selenium.webdriver.common.keys import Keys

from adalog.gateway.settings.config import Settings
from tests.chromium import needs_chromium
from tests.console.page import Console
from tests.console.proxy import Proxy, proxied
from tests.gateway.explorer.test_browser import PACKAGES, SQLITE
from tests.gateway.identity.test_auth import digest
from tests.gateway.support import Gateway, gateway, served
from tests.gateway.test_running_queries import ASK, CANCEL, LIST, NUMBERS, SLOW
from tests.waiting import until

pytestmark = needs_chromium

# Each text that is hidden has this in it.
MARK = "secret-7"
ROLES = {"ann": "member,write", "root": "admin"}
HIDDEN = """
[{:db/ident :package/note :db/valueType :db.type/string :db/cardinality :db.cardinality/one :db/doc "SECRET-7 doc"}
 {:db/ident :package/plan :db/valueType :db.type/string :db/cardinality :db.cardinality/one}
 {:db/ident :audit/reason :db/valueType :db.type/string}]
"""
# The package is hidden, and sorted before the others; so is the note about one that is not. The transaction has
# nothing else.
DATA = """
[{:db/id "hidden" :package/name "0-SECRET-7" :package/version "SECRET-7.1" :package/size 7 :package/plan "SECRET-7"
  :package/depends [[:package/name "libsqlite3-0"]]}
 {:db/id [:package/name "python3"] :package/note "SECRET-7 note" :package/depends "hidden"}]
"""
LATER = """
[{:package/name "0-SECRET-7" :package/version "SECRET-7.2"} {:package/name "python3" :package/note "SECRET-7 more"}
 {:db/id "datomic.tx" :audit/reason "SECRET-7 reason"}]
"""
POLICIES = r"""
[{:policy/name "SECRET-7: members see packages" :policy/roles [:member] :policy/ops [:read :create :update :delete]
  :policy/on [:package/name :package/version :package/size :package/depends]
  :policy/rules "[[(allow ?p) [?p :package/name] (not [?p :package/plan \"SECRET-7\"])]]"}]
"""
SAVED = """
[{:db/ident :console/id :db/valueType :db.type/uuid :db/unique :db.unique/identity}
 {:db/ident :console/name :db/valueType :db.type/string}
 {:db/ident :console/query :db/valueType :db.type/string}
 {:db/ident :console/owner :db/valueType :db.type/string}
 {:db/ident :console/shared :db/valueType :db.type/boolean}]
"""
SAVED_ID = "11111111-2222-3333-4444-555555555555"
SAVED_QUERY = f"""
[{{:console/id #uuid "{SAVED_ID}" :console/name "SECRET-7 query" :console/owner "root" :console/shared false
   :console/query "[:find ?p :where [?p :package/version \\"SECRET-7.2\\"]]"}}]
"""
SAVED_POLICY = r"""
[{:policy/name "saved queries" :policy/roles [:*] :policy/ops [:read :create] :policy/on [:console]
  :policy/rules "[[(allow ?q) (claim :sub ?me) [?q :console/owner ?me]] [(allow ?q) [?q :console/shared true]]]"}]
"""

NAMES = "[:find ?n ?v :where [?p :package/name ?n] [?p :package/version ?v]]"
PACKAGE = '[:find ?p :where [?p :package/name "python3"]]'


@dataclass
class Hidden:
    opened: Gateway
    browser: webdriver.Chrome
    proxy: Proxy

    def look(self, who: str, place: str, part: Callable[[Console], object]) -> bool:
        """Whether one that opens a part of the page is shown or sent what is hidden."""
        console = Console(self.browser, self.proxy.address)
        self._as(console, who)
        before = len(self.proxy.sent())
        console.open(place)
        part(console)
        shown: str = console.script(_TEXT)
        is_shown = MARK in shown.lower()
        console.browser.get("about:blank")
        return is_shown or MARK.encode() in self.proxy.sent()[before:].lower()

    def check(self, part: Callable[[Console, str], object], place: str = "") -> None:
        """A part is as the policies want it."""
        for who in ("root", "ann"):
            is_admin = who == "root"
            found = self.look(who, place, lambda console, who=who: part(console, who))  # type: ignore[misc]
            assert found == is_admin, f"{who} is {'not ' if is_admin else ''}shown what is hidden"

    def entity(self) -> int:
        """The package that is hidden."""
        datoms = self.opened.database.snapshot().datoms("EAVT")
        return next(datom.e for datom in datoms if datom.v == "0-SECRET-7")

    def _as(self, console: Console, who: str) -> None:
        self.browser.get(f"{console.address}/healthz")
        console.script("localStorage.clear(); sessionStorage.setItem('adalog:token', arguments[0])", who)


# All that the page has, whether in sight or not.
_TEXT = """
const all = (root, selector) => [...root.querySelectorAll(selector)];
const roots = (root) => [root, ...all(root, "*").flatMap((each) => each.shadowRoot ? roots(each.shadowRoot) : [])];
const textOf = (root) => (root.documentElement ?? root).innerHTML
  + all(root, "input, textarea, select").map(({value}) => value).join(" ");
return roots(document).map(textOf).join(" ") + location.href;
"""


@pytest.fixture(scope="module")
def hidden(browser: webdriver.Chrome, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hidden]:
    tokens = tmp_path_factory.mktemp("hidden") / "tokens"
    tokens.write_text("".join(f"{name}:{roles}:{digest(name)}\n" for name, roles in ROLES.items()))
    texts = (PACKAGES, HIDDEN, SAVED, SQLITE, DATA, LATER, SAVED_QUERY, POLICIES, SAVED_POLICY, NUMBERS)
    with (
        gateway(Settings(data=":memory:", auth=str(tokens)), *texts) as opened,
        served(opened.app) as address,
        proxied(address) as proxy,
    ):
        yield Hidden(opened, browser, proxy)
        browser.get("about:blank")


def names_of(who: str) -> set[str]:
    return {"libsqlite3-0", "python3", "sqlite3"} | ({"0-SECRET-7"} if who == "root" else set())


def rows(console: Console, who: str) -> None:
    console.run(NAMES)
    console.wait(lambda: {row[0] for row in console.rows()} == names_of(who))


def test_the_table(hidden: Hidden) -> None:
    hidden.check(rows)


def test_the_table_of_what_is_hidden(hidden: Hidden) -> None:
    def ask(console: Console, who: str) -> None:
        console.run("[:find ?p ?note :where [?p :package/note ?note]]")
        console.wait(lambda: "row" in console.text(".results") and len(console.rows()) == (who == "root"))

    hidden.check(ask)


@pytest.mark.parametrize("kind", ["CSV", "Arrow", "Parquet"])
def test_a_file_of_the_answer(hidden: Hidden, kind: str) -> None:
    def save(console: Console, who: str) -> None:
        rows(console, who)
        console.one(".menu summary").click()
        console.button(kind, "[aria-label='Save as']").click()
        console.wait(lambda: "Saved as" in console.text(".menu [role=status]"))

    hidden.check(save)


def test_an_entity_its_history_and_what_refers_to_it(hidden: Hidden) -> None:
    def open_entity(console: Console, who: str) -> None:
        console.run(PACKAGE)
        console.one(".table button.ref").click()
        console.wait(lambda: "python3" in console.text(".side .entity-name"))
        console.button("History", ".side").click()
        console.wait(lambda: console.all(".side .change-list"))
        console.wait(lambda: console.all(".side .referrers[aria-busy=false]"))
        # The label of what it refers to.
        console.button("libsqlite3-0", ".side").click()
        console.wait(lambda: "libsqlite3-0" in console.text(".side .entity-name"))
        console.wait(lambda: "python3" in console.text(".side .referrers"))

    hidden.check(open_entity)


def test_an_entity_that_is_hidden_by_its_address(hidden: Hidden) -> None:
    def open_entity(console: Console, who: str) -> None:
        said = "It has no attributes" if who == "ann" else "SECRET-7"
        console.wait(lambda: said in console.text("main"))

    hidden.check(open_entity, f"#/entity?id={hidden.entity()}")


def test_the_history_of_a_row(hidden: Hidden) -> None:
    def open_history(console: Console, who: str) -> None:
        console.run("[:find ?p :where [?p :package/depends _]]")
        console.wait(console.rows)
        for button in console.all(".results .row-actions button"):
            if button.text == "History":
                button.click()
                console.wait(lambda: console.all(".side .change-list"))

    hidden.check(open_history)


def test_the_schema_its_counts_and_samples(hidden: Hidden) -> None:
    def open_schema(console: Console, who: str) -> None:
        console.wait(lambda: console.all(".namespace"))
        console.button(":package/version").click()
        samples = console.one(".side section")
        console.wait(lambda: "3.40.1" in samples.text)
        counts = [each.text for each in console.all(".side dd.number")]
        assert counts == (["4", "4"] if who == "root" else ["3", "3"])
        assert (":package/note" in console.one("main").get_attribute("innerHTML")) == (who == "root")

    hidden.check(open_schema, "#/schema")


def test_an_earlier_moment(hidden: Hidden) -> None:
    def go_back(console: Console, who: str) -> None:
        rows(console, who)
        console.button("As of…").click()
        slider = console.one(".slider")
        for _ in range(5):
            before = console.text(".results")
            slider.send_keys(Keys.ARROW_LEFT)
            console.wait(lambda before=before: console.text(".results") != before)  # type: ignore[misc]

    hidden.check(go_back)


def test_what_changed_between_two_moments(hidden: Hidden) -> None:
    def compare(console: Console, who: str) -> None:
        console.run("[:find ?n ?d :where [?p :package/name ?n] [?p :package/depends ?d]]")
        start = console.wait(lambda: console.button("Changes…").click() or console.all(".moment-field input.t"))[0]
        start.send_keys(Keys.CONTROL, "a", Keys.NULL, "0", Keys.TAB)
        console.button("Compare").click()
        console.wait(lambda: "added" in console.text(".compare"))

    hidden.check(compare)


def test_a_stream(hidden: Hidden) -> None:
    def follow(console: Console, who: str) -> None:
        rows(console, who)
        console.button("Live").click()
        console.wait(lambda: console.text(".live-status") == "Live")
        transact = hidden.opened.database.transact
        transact('[{:package/name "SECRET-7 live" :package/version "1" :package/plan "SECRET-7"}]')
        transact('[{:package/name "zlib1g" :package/version "1"}]')
        console.wait(lambda: "zlib1g" in {row[0] for row in console.rows()})
        transact(
            '[[:db/retractEntity [:package/name "zlib1g"]] [:db/retractEntity [:package/name "SECRET-7 live"]]]'
        )
        console.wait(lambda: {row[0] for row in console.rows()} == names_of(who))
        # What is sent to streams is kept, too.
        assert b"zlib1g" in hidden.proxy.sent()

    hidden.check(follow)


def test_why_a_row_is_there(hidden: Hidden) -> None:
    def why(console: Console, who: str) -> None:
        noted = "(or [?p :package/note] [?p :package/version])"
        console.run(f'[:find ?n :where [?p :package/name ?n] [(= ?n "python3")] {noted}]')
        console.wait(lambda: console.rows() == [["python3"]])
        console.button("Why", ".results").click()
        console.wait(lambda: console.all(".side [role=treeitem]"))
        for _ in range(20):
            closed = console.all(".side [role=treeitem][aria-expanded=false] > .tree-line")
            if not closed:
                return
            closed[-1].click()
            console.wait(lambda: not console.all(".side .tree .note[role=status]"))

    hidden.check(why)


def test_why_a_row_is_missing(hidden: Hidden) -> None:
    def why_not(console: Console, who: str) -> None:
        noted = "(optional [?p :package/note ?note])"
        console.run(f"[:find ?n ?v :where [?p :package/name ?n] {noted} [?p :package/version ?v]]")
        console.button("Why not…").click()
        name, version = console.wait(
            lambda: len(console.all(".why-not input")) == 2 and console.all(".why-not input")
        )
        name.send_keys("python3")
        version.send_keys("9", Keys.ENTER)
        console.wait(lambda: "The answer has no such row" in console.text(".side"))

    hidden.check(why_not)


def test_a_plan(hidden: Hidden) -> None:
    def plan(console: Console, who: str) -> None:
        # The first row's values are offered as those that are given.
        rows(console, who)
        console.one("[data-view=plan]").click()
        console.wait(lambda: console.all(".plan-levels > li"))
        measure = [each for each in console.all(".plan button") if each.text == "Run and measure"]
        for button in measure:
            button.click()
            console.wait(lambda: "actual" in console.text(".plan") or console.all(".plan [role=alert]"))

    hidden.check(plan)


def test_a_graph(hidden: Hidden) -> None:
    def graph(console: Console, who: str) -> None:
        console.run("[:find ?p ?d :where [?p :package/depends ?d]]")
        console.wait(console.rows)
        console.one("[data-view=graph]").click()
        console.wait(lambda: console.all(".results canvas"))

    hidden.check(graph)


@pytest.mark.parametrize(
    "tx",
    [
        '[[:db/retractEntity [:package/name "python3"]]]',
        '[{:db/id [:package/name "python3"] :package/note "another"}]',
        "[[:db/retractEntity HIDDEN]]",
    ],
)
def test_a_dry_run(hidden: Hidden, tx: str) -> None:
    tx = tx.replace("HIDDEN", str(hidden.entity()))

    def dry_run(console: Console, who: str) -> None:
        # A query of the history, whose answer is compared.
        rows(console, who)
        console.one("nav a[href='#/change']").click()
        console.write(tx, "Transaction")
        console.button("Dry run").click()
        console.wait(lambda: int(console.one(".preview").get_attribute("data-ended") or 0) > 0)
        console.wait(lambda: not console.all(".affected[aria-busy=true]"))

    hidden.check(dry_run)


def test_the_form_of_an_entity(hidden: Hidden) -> None:
    def change(console: Console, who: str) -> None:
        console.wait(lambda: console.all("textarea[aria-label=':package/version']"))

    hidden.check(change, "#/change?way=entity&entity=%5B%3Apackage%2Fname+%22python3%22%5D")


def test_saved_queries(hidden: Hidden) -> None:
    def saved(console: Console, who: str) -> None:
        console.button("Saved").click()
        console.one('.side [name="name"]').send_keys(f"Names for {who}", Keys.ENTER)
        console.wait(lambda: any(f"Names for {who}" in each.text for each in console.all(".saved")))

    hidden.check(saved)


def test_the_link_of_a_saved_query(hidden: Hidden) -> None:
    def saved(console: Console, who: str) -> None:
        console.wait(lambda: console.all(".results .error" if who == "ann" else ".results .table"))

    hidden.check(saved, f"#/ask?saved={SAVED_ID}")


def test_health(hidden: Hidden) -> None:
    def post(document: str, **variables: Any) -> Any:
        body = {"query": document, "variables": variables}
        headers = {"Authorization": "Bearer root"}
        return httpx.post(f"{hidden.proxy.target}/graphql", json=body, headers=headers, timeout=60).json()

    def health(console: Console, who: str) -> None:
        console.wait(lambda: "The server is ready." in console.text(".health"))
        if who == "root":
            console.wait(lambda: "SECRET-7" in console.text(".running"))
        else:
            console.wait(lambda: "admin" in console.text(".health .error"))

    with ThreadPoolExecutor(1) as client:
        answer = client.submit(post, ASK, query=f"{SLOW} ; SECRET-7")
        try:
            until(lambda: post(LIST)["data"]["runningQueries"] != [])
            hidden.check(health, "#/health")
        finally:
            for each in post(LIST)["data"]["runningQueries"]:
                post(CANCEL, id=each["id"])
        assert answer.result()["errors"][0]["extensions"]["code"] == "CANCELLED"


def test_the_pages_of_admins(hidden: Hidden) -> None:
    def policies(console: Console, who: str) -> None:
        console.wait(lambda: console.all("[aria-label=Policies]"))
        console.wait(lambda: who == "ann" or console.all(".policy"))

    hidden.check(policies, "#/whom")


@pytest.mark.parametrize("place", ["ask?query=%s&as=%s", "entity?id=%s&as=%s"])
def test_an_address_that_names_another_identity(hidden: Hidden, place: str) -> None:
    as_admin = quote('{"roles":["admin"],"claims":{"sub":"root"}}')
    given = quote(NAMES) if place.startswith("ask") else str(hidden.entity())

    def refused(console: Console, who: str) -> None:
        said = "the role admin" if who == "ann" else "SECRET-7"
        console.wait(lambda: said in console.one("main .error" if who == "ann" else "main").text)

    hidden.check(refused, "#/" + place % (given, as_admin))
