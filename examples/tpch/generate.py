"""Writes TPC-H's eight tables as Parquet files: small, seeded, and so that each of the 22 queries finds rows.

The columns, types and value sets are those of the specification; numbers of rows and distributions are not, since
these tables are for trying the queries and not for measuring. `python -m adalog.examples.tpch.generate FOLDER`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

Rows = list[tuple[Any, ...]]

_REGIONS: Final = ("AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST")
_NATIONS: Final = (
    ("BRAZIL", 1),
    ("CANADA", 1),
    ("CHINA", 2),
    ("FRANCE", 3),
    ("GERMANY", 3),
    ("INDIA", 2),
    ("KENYA", 0),
    ("SAUDI ARABIA", 4),
)
_BRANDS: Final = ("Brand#12", "Brand#23", "Brand#34", "Brand#45")
_TYPES: Final = (
    "ECONOMY ANODIZED STEEL",
    "LARGE PLATED BRASS",
    "MEDIUM POLISHED TIN",
    "PROMO BURNISHED COPPER",
    "SMALL BRUSHED BRASS",
)
_SIZES: Final = (3, 9, 14, 15)
_CONTAINERS: Final = ("SM BOX", "MED BOX", "MED BAG", "LG CASE")
_COLOURS: Final = ("almond", "forest", "green", "ivory", "lace")
_PRIORITIES: Final = ("1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW")
_MODES: Final = ("AIR", "AIR REG", "MAIL", "RAIL", "SHIP")
_INSTRUCTIONS: Final = ("COLLECT COD", "DELIVER IN PERSON", "NONE")
_SEGMENTS: Final = ("AUTOMOBILE", "BUILDING", "MACHINERY")
_FIRST: Final = date(1992, 1, 1)
_TODAY: Final = date(1995, 6, 17)

_MONEY: Final = pa.decimal128(15, 2)
_SCHEMAS: Final = {
    "region": {"r_regionkey": pa.int64(), "r_name": pa.string()},
    "nation": {"n_nationkey": pa.int64(), "n_name": pa.string(), "n_regionkey": pa.int64()},
    "part": {
        "p_partkey": pa.int64(),
        "p_name": pa.string(),
        "p_mfgr": pa.string(),
        "p_brand": pa.string(),
        "p_type": pa.string(),
        "p_size": pa.int64(),
        "p_container": pa.string(),
    },
    "supplier": {
        "s_suppkey": pa.int64(),
        "s_name": pa.string(),
        "s_address": pa.string(),
        "s_nationkey": pa.int64(),
        "s_phone": pa.string(),
        "s_acctbal": _MONEY,
        "s_comment": pa.string(),
    },
    "partsupp": {
        "ps_partkey": pa.int64(),
        "ps_suppkey": pa.int64(),
        "ps_availqty": pa.int64(),
        "ps_supplycost": _MONEY,
    },
    "customer": {
        "c_custkey": pa.int64(),
        "c_name": pa.string(),
        "c_address": pa.string(),
        "c_nationkey": pa.int64(),
        "c_phone": pa.string(),
        "c_acctbal": _MONEY,
        "c_mktsegment": pa.string(),
        "c_comment": pa.string(),
    },
    "orders": {
        "o_orderkey": pa.int64(),
        "o_custkey": pa.int64(),
        "o_orderstatus": pa.string(),
        "o_totalprice": _MONEY,
        "o_orderdate": pa.date32(),
        "o_orderpriority": pa.string(),
        "o_shippriority": pa.int64(),
        "o_comment": pa.string(),
    },
    "lineitem": {
        "l_orderkey": pa.int64(),
        "l_partkey": pa.int64(),
        "l_suppkey": pa.int64(),
        "l_linenumber": pa.int64(),
        "l_quantity": _MONEY,
        "l_extendedprice": _MONEY,
        "l_discount": _MONEY,
        "l_tax": _MONEY,
        "l_returnflag": pa.string(),
        "l_linestatus": pa.string(),
        "l_shipdate": pa.date32(),
        "l_commitdate": pa.date32(),
        "l_receiptdate": pa.date32(),
        "l_shipinstruct": pa.string(),
        "l_shipmode": pa.string(),
    },
}


def tables(seed: int = 22, orders: int = 700) -> dict[str, pa.Table]:
    """The tables by name; the same for the same arguments."""
    made = _Tables(Random(seed), orders)
    rows: dict[str, Rows] = {
        "region": [*enumerate(_REGIONS)],
        "nation": [(key, name, region) for key, (name, region) in enumerate(_NATIONS)],
        "part": made.parts(),
        "supplier": made.suppliers(),
        "partsupp": made.offers(),
        "customer": made.customers(),
    }
    rows["orders"], rows["lineitem"] = made.orders()
    return {name: _table(rows[name], columns) for name, columns in _SCHEMAS.items()}


def _table(rows: Rows, columns: dict[str, pa.DataType]) -> pa.Table:
    values: Sequence[Sequence[Any]] = list(zip(*rows, strict=True))
    arrays = [pa.array(each, kind) for each, kind in zip(values, columns.values(), strict=True)]
    return pa.table(dict(zip(columns, arrays, strict=True)))


class _Tables:
    """Rows that refer to each other: for every five orders a customer, for every ten a part."""

    def __init__(self, rng: Random, orders: int) -> None:
        self.rng = rng
        self.count = orders
        self.customer_count = orders // 5
        self.part_count = orders // 10
        self.supplier_count = 16
        self.suppliers_of: dict[int, list[int]] = {}

    def money(self, least: int, most: int) -> Decimal:
        return Decimal(self.rng.randint(100 * least, 100 * most)).scaleb(-2)

    def phone(self, nation: int) -> str:
        return f"{10 + nation}-{self.rng.randint(100, 999)}-{self.rng.randint(1000, 9999)}"

    def parts(self) -> Rows:
        one = self.rng.choice
        return [
            (
                key,
                f"{one(_COLOURS)} {one(_COLOURS)}",
                f"Manufacturer#{1 + key % 5}",
                one(_BRANDS),
                one(_TYPES),
                one(_SIZES),
                one(_CONTAINERS),
            )
            for key in range(1, self.part_count + 1)
        ]

    def suppliers(self) -> Rows:
        return [
            (
                key,
                f"Supplier#{key:09}",
                f"{key} Harbour Road",
                key % len(_NATIONS),
                self.phone(key % len(_NATIONS)),
                self.money(-900, 9000),
                "Customer has had Complaints" if key % 7 == 0 else "quick and even deposits",
            )
            for key in range(1, self.supplier_count + 1)
        ]

    def offers(self) -> Rows:
        rows = []
        for part in range(1, self.part_count + 1):
            self.suppliers_of[part] = sorted(self.rng.sample(range(1, self.supplier_count + 1), 4))
            rows += [
                (part, supplier, self.rng.randint(1, 200), self.money(1, 1000))
                for supplier in self.suppliers_of[part]
            ]
        return rows

    def customers(self) -> Rows:
        rows = []
        for key in range(1, self.customer_count + 1):
            nation = self.rng.randrange(len(_NATIONS))
            row = (f"Customer#{key:09}", f"{key} Main Street", nation, self.phone(nation), self.money(-900, 9000))
            rows.append((key, *row, self.rng.choice(_SEGMENTS), f"waits for item {key}"))
        return rows

    def orders(self) -> tuple[Rows, Rows]:
        rng, orders, lines = self.rng, [], []
        for number in range(1, self.count + 1):
            key = 4 * number
            day = _FIRST + timedelta(rng.randrange(7 * 365))
            # Every third customer never orders.
            customer = rng.choice([each for each in range(1, self.customer_count + 1) if each % 3])
            own = [self.line(key, place, day) for place in range(1, rng.randint(1, 7) + 1)]
            lines += own
            status = {row[9] for row in own}
            comment = "special packages and requests" if rng.random() < 0.2 else "even theodolites"
            total = sum(row[5] for row in own)
            shown = status.pop() if len(status) == 1 else "P"
            orders.append((key, customer, shown, total, day, rng.choice(_PRIORITIES), 0, comment))
        return orders, lines

    def line(self, order: int, place: int, day: date) -> tuple[Any, ...]:
        rng = self.rng
        part = rng.randint(1, self.part_count)
        quantity = rng.choice((1, 2, 15, 50, 50, 50))
        shipped = day + timedelta(rng.randint(1, 121))
        received = shipped + timedelta(rng.randint(1, 30))
        returned = rng.choice("RA") if received <= _TODAY else "N"
        return (
            order,
            part,
            rng.choice(self.suppliers_of[part]),
            place,
            Decimal(quantity),
            quantity * self.money(900, 1100),
            Decimal(rng.randint(0, 10)).scaleb(-2),
            Decimal(rng.randint(0, 8)).scaleb(-2),
            returned,
            "O" if shipped > _TODAY else "F",
            shipped,
            day + timedelta(rng.randint(30, 90)),
            received,
            rng.choice(_INSTRUCTIONS),
            rng.choice(_MODES),
        )


def main(folder: str) -> None:
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, table in tables().items():
        pq.write_table(table, Path(folder, f"{name}.parquet"))


if __name__ == "__main__":
    main(sys.argv[1])
