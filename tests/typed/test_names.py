"""Names: idents as GraphQL spells them, and plurals."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adalog.schema.typed import names


@pytest.mark.parametrize(
    ("ident", "type_name", "field", "many", "member"),
    [
        ("issue", "Issue", "issue", "issues", "ISSUE"),
        ("line-item", "LineItem", "lineItem", "lineItems", "LINE_ITEM"),
        ("shop.order", "ShopOrder", "shopOrder", "shopOrders", "SHOP_ORDER"),
        ("due_date", "DueDate", "dueDate", "dueDates", "DUE_DATE"),
        ("lineItem", "LineItem", "lineItem", "lineItems", "LINE_ITEM"),
        ("URL", "URL", "url", "urls", "URL"),
        ("URLPath", "URLPath", "urlPath", "urlPaths", "URL_PATH"),
        ("userID", "UserID", "userID", "userIDs", "USER_ID"),
        ("a1", "A1", "a1", "a1s", "A1"),
        ("sales-person", "SalesPerson", "salesPerson", "salesPeople", "SALES_PERSON"),
        ("category", "Category", "category", "categories", "CATEGORY"),
        ("day", "Day", "day", "days", "DAY"),
        ("box", "Box", "box", "boxes", "BOX"),
        ("branch", "Branch", "branch", "branches", "BRANCH"),
        ("status", "Status", "status", "statuses", "STATUS"),
        ("basis", "Basis", "basis", "bases", "BASIS"),
        ("news", "News", "news", "newsList", "NEWS"),
    ],
)
def test_names(ident: str, type_name: str, field: str, many: str, member: str) -> None:
    assert (names.pascal(ident), names.camel(ident)) == (type_name, field)
    assert (names.plural(field), names.capitals(ident)) == (many, member)


@pytest.mark.parametrize("name", ["ok?", "1st", "", "größe", "a b", "__type", "a*"])
def test_what_graphql_cannot_spell(name: str) -> None:
    assert not names.is_spellable(name)
    assert not names.is_spellable(names.camel(name)) or name == "__type"


_WORDS = st.lists(st.from_regex(r"[a-z][a-z0-9]{0,6}", fullmatch=True), min_size=1, max_size=4)


@given(_WORDS, st.sampled_from("-._"))
def test_words_of_a_name_make_one_name(words: list[str], separator: str) -> None:
    ident = separator.join(words)
    name = names.camel(ident)
    assert names.is_spellable(name)
    assert name.lower() == "".join(words)
    assert names.upper(name) == names.pascal(ident)
    assert names.plural(name) != name
    assert names.is_spellable(names.capitals(ident))
