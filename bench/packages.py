"""The join benchmarks on the sample data: stars and chains with selective constants, and aggregates over them."""

from __future__ import annotations

from typing import Final

from bench.work import Work

_BARS: Final = {"DuckDB": 1.5}

_STARS: Final = [
    Work(
        "star-constants",
        "star: names, versions and sizes of the GNOME section's packages with a tag",
        "debian",
        {
            "adalog": '[:find ?name ?version ?size :where [?p :package/section [:section/name "gnome"]]'
            ' [?p :package/tag "role::program"] [?p :package/name ?name] [?p :package/version ?version]'
            " [?p :package/size ?size]]",
            "DuckDB": "select distinct p.name, p.version, p.size from package p join section s on p.section = s.id"
            " join tags t on t.a = p.id where s.name = 'gnome' and t.b = 'role::program'",
        },
        bars=_BARS,
    ),
    Work(
        "star-groups",
        "star: count and total size of optional packages with a tag, by section",
        "debian",
        {
            "adalog": '[:find ?section (count ?p) (sum ?size) :with ?p :where [?p :package/tag "role::program"]'
            " [?p :package/priority :optional] [?p :package/size ?size] [?p :package/section ?s]"
            " [?s :section/name ?section]]",
            "DuckDB": "select s.name, count(*), sum(p.size) from package p join section s on p.section = s.id"
            " join tags t on t.a = p.id where t.b = 'role::program' and p.priority = 'optional'"
            " and p.size is not null group by s.name",
        },
        bars=_BARS,
    ),
    Work(
        "star-all",
        "star: packages and greatest installed size by maintainer, of all packages",
        "debian",
        {
            "adalog": "[:find ?maintainer (count ?p) (max ?size) :with ?p :where [?p :package/installed-size ?size]"
            " [?p :package/maintainer ?m] [?m :maintainer/name ?maintainer]]",
            "DuckDB": "select m.name, count(*), max(p.installed_size) from package p"
            " join maintainer m on p.maintainer = m.id where p.installed_size is not null group by m.name",
        },
        bars=_BARS,
    ),
]

_CHAINS: Final = [
    Work(
        "chain-two",
        "chain: what depends on something that depends on libssl3",
        "debian",
        {
            "adalog": '[:find ?name :where [?t :package/name "libssl3"] [?b :package/depends ?t]'
            " [?a :package/depends ?b] [?a :package/name ?name]]",
            "DuckDB": "select distinct p.name from package t join depends y on y.b = t.id"
            " join depends x on x.b = y.a join package p on p.id = x.a where t.name = 'libssl3'",
        },
        bars=_BARS,
    ),
    Work(
        "chain-groups",
        "chain: by section, the packages two dependencies above the python section's libraries",
        "debian",
        {
            "adalog": '[:find ?section (count-distinct ?a) :where [?c :package/section [:section/name "python"]]'
            " [?b :package/depends ?c] [?a :package/depends ?b] [?a :package/section ?s]"
            " [?s :section/name ?section]]",
            "DuckDB": "select o.name, count(distinct a.id) from section s join package c on c.section = s.id"
            " join depends y on y.b = c.id join depends x on x.b = y.a join package a on a.id = x.a"
            " join section o on o.id = a.section where s.name = 'python' group by o.name",
        },
        bars=_BARS,
    ),
    Work(
        "chain-three",
        "chain: the packages that three dependencies lead to from the games section, with their sizes summed",
        "debian",
        {
            "adalog": '[:find (count ?d) (sum ?size) :with ?d :where [?a :package/section [:section/name "games"]]'
            " [?a :package/depends ?b] [?b :package/depends ?c] [?c :package/depends ?d]"
            " [?d :package/installed-size ?size]]",
            "DuckDB": "select count(*), sum(installed_size) from (select distinct d.id, d.installed_size"
            " from section s join package a on a.section = s.id join depends x on x.a = a.id"
            " join depends y on y.a = x.b join depends z on z.a = y.b join package d on d.id = z.b"
            " where s.name = 'games' and d.installed_size is not null)",
        },
        bars=_BARS,
    ),
    Work(
        "chain-star",
        "chain of stars: dependencies within one maintainer's packages, of large packages, by maintainer",
        "debian",
        {
            "adalog": "[:find ?maintainer (count ?b) :with ?a :where [?a :package/depends ?b]"
            " [?a :package/maintainer ?m] [?b :package/maintainer ?m] [?a :package/size ?size]"
            " [(> ?size 10000000)] [?m :maintainer/name ?maintainer]]",
            "DuckDB": "select m.name, count(*) from depends x join package a on a.id = x.a"
            " join package b on b.id = x.b join maintainer m on m.id = a.maintainer"
            " where a.maintainer = b.maintainer and a.size > 10000000 group by m.name",
        },
        bars=_BARS,
    ),
]


def work() -> list[Work]:
    """The part of the issue's table that is about the sample data."""
    return [*_STARS, *_CHAINS]
