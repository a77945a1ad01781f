"""The GraphQL surface keeps every name, type and default that clients rely on."""

from __future__ import annotations

from pathlib import Path

from graphql import DangerousChangeType, find_breaking_changes, find_dangerous_changes
from graphql import build_schema as read_sdl

from adalog.schema.surface import build_schema

CONTRACT = read_sdl(Path(__file__).with_name("contract.graphql").read_text("utf-8"))


def test_nothing_of_the_contract_is_changed() -> None:
    built = build_schema()._schema
    changes = [*find_breaking_changes(CONTRACT, built), *find_dangerous_changes(CONTRACT, built)]
    added = {change for change in changes if change.type is DangerousChangeType.OPTIONAL_ARG_ADDED}
    reads = ("Query.q", "Query.explain", "Query.pull", "Query.pullMany", "Query.datoms")
    assert {change.description for change in added} == {
        f"An optional argument {field}({name}:) was added."
        for name, fields in {
            "as": (*reads, "Query.attributes", "Mutation.transact", "Mutation.transactJson", "Subscription.live"),
            "with": reads,
            "withArgs": reads,
            "timeoutMs": (*reads[1:], "Query.transactions"),
        }.items()
        for field in fields
    }
    assert [change.description for change in changes if change not in added] == []


def test_what_is_not_built_is_absent() -> None:
    built = build_schema()._schema
    assert built.subscription_type is not None
    assert set(built.subscription_type.fields) == {"live", "transactions"}
    assert built.query_type is not None
    assert set(built.query_type.fields) == {
        "q", "explain", "pull", "pullMany", "datoms", "transactions", "attributes", "database", "whoami",
        "why", "whyVisible", "runningQueries", "check", "builtins",
        "dryRun",
    }  # fmt: skip
