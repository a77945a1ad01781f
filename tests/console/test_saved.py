"""Saved queries: declared when they are first wanted, saved, listed, and opened by a link."""

from __future__ import annotations

from selenium.webdriver.common.keys import Keys

from tests.chromium import needs_chromium
from tests.console.page import Console
from tests.gateway.support import Gateway

pytestmark = needs_chromium

QUERY = "[:find ?v :in $ ?n :where [?p :package/name ?n] [?p :package/version ?v]]"


def test_a_query_is_saved_and_opened_by_its_link(console: Console, packages: Gateway) -> None:
    console.write(QUERY)
    console.one('.arguments [aria-label="?n"]').send_keys("sqlite3")
    console.button("Saved").send_keys(Keys.ENTER)
    assert ":console/query" in console.wait(lambda: console.text(".side pre"))
    assert packages.q("[:find ?a :where [?a :db/ident :console/query]]") == []
    console.button("Declare them").send_keys(Keys.ENTER)
    console.one('.side [name="name"]').send_keys("<b>Versions</b>")
    console.one('.side [name="description"]').send_keys("of a package", Keys.ENTER)
    link = console.one(".saved a")
    assert link.text == "<b>Versions</b>"
    address = str(link.get_attribute("href"))
    assert packages.q("[:find ?q ?d :where [?s :console/query ?q] [?s :console/description ?d]]") == [
        [QUERY, "of a package"]
    ]
    console.browser.get("about:blank")
    console.browser.get(address)
    assert console.wait(console.rows) == [["3.40.1"]]
    assert console.text_of() == QUERY


def test_a_saved_query_is_deleted(console: Console, packages: Gateway) -> None:
    console.write("[:find ?n :where [_ :package/name ?n]]")
    console.button("Saved").click()
    console.button("Declare them").click()
    console.one('.side [name="name"]').send_keys("Names", Keys.ENTER)
    console.button("Delete Names").click()
    console.wait(lambda: not console.all(".saved"))
    assert packages.q("[:find ?s :where [?s :console/name]]") == []


def test_a_link_to_what_is_not_there_says_so(console: Console) -> None:
    console.open("#/ask?saved=00000000-0000-0000-0000-000000000000")
    assert "no such saved query" in console.wait(lambda: console.text(".results .error"))


OLDER = """
[{:db/ident :console/id :db/valueType :db.type/uuid :db/unique :db.unique/identity}
 {:db/ident :console/name :db/valueType :db.type/string}
 {:db/ident :console/query :db/valueType :db.type/string}
 {:console/id #uuid "00000000-0000-0000-0000-000000000001" :console/name "Older"
  :console/query "[:find ?v :where [_ :package/version ?v]]"}]
"""


def test_a_saved_query_keeps_its_moment(console: Console, packages: Gateway) -> None:
    packages.database.transact(OLDER)
    packages.database.transact('[[:db/retractEntity [:package/name "python3"]]]')
    console.open()
    console.run("[:find ?n :where [_ :package/name ?n]]")
    assert len(console.wait(console.rows)) == 2
    console.button("As of…").send_keys(Keys.ENTER)
    console.wait(lambda: console.one(".slider").get_attribute("max") == "4")
    console.one(".slider").send_keys(Keys.HOME, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    console.wait(lambda: len(console.rows()) == 3)
    console.button("Saved").send_keys(Keys.ENTER)
    # One that was saved before moments were kept is of the newest.
    assert [each.text for each in console.wait(lambda: console.all(".saved a"))] == ["Older"]
    console.one('.side [name="name"]').send_keys("Before", Keys.ENTER)
    console.wait(lambda: "as of t 2" in console.text(".side"))
    assert packages.q("[:find ?b :where [_ :console/basis ?b]]") == [['{"t":2}']]
    addresses = [str(each.get_attribute("href")) for each in console.all(".saved a")]
    for address, count, moment in zip(addresses, (3, 2), ("t 2", "t 6"), strict=True):
        console.browser.get("about:blank")
        console.browser.get(address)
        console.wait(lambda count=count: len(console.rows()) == count)
        assert f"at {moment}" in console.text(".results")
    assert console.messages() == []
