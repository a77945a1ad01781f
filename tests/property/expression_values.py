"""Values of all types at the edges of their ranges, as EDN texts: of variables and of constants, by kind."""

from __future__ import annotations

# The variables of a row with the values that it may give them; any may also be nil.
VALUES = {
    "?a": ["0", "1", "-1", "7", "-3", "576460752303423487", "-576460752303423488", "9223372036854775807"],
    "?b": ["0", "2", "3", "-5", "9007199254740993", "-9223372036854775808", "1000000007"],
    "?c": [
        "0.0",
        "-0.0",
        "1.5",
        "-2.25",
        "1e300",
        "##NaN",
        "##Inf",
        "##-Inf",
        "9007199254740992.0",
        "0.1",
        "5e-324",
    ],
    "?d": [
        "0M",
        "1.1M",
        "-3M",
        "0.0000000000000000000000000000000000000001M",
        "1234567890123456789012345678901234567890M",
    ],
    "?e": ["0N", "5N", "-123456789012345678901234567890N", "9223372036854775808N"],
    "?f": [
        '#inst "2024-02-29T23:59:59.999Z"',
        '#inst "1970-01-01"',
        '#inst "0001-01-01"',
        '#inst "9999-12-31T23:59:59.999Z"',
        '#inst "1900-02-28T12:00:00Z"',
        '#inst "2024-03-31T01:30:00Z"',
        '#inst "2024-10-27T00:30:00.001Z"',
    ],
    "?s": [
        '""',
        '"Ada Lovelace"',
        '" \\tpad\\u2003\\n"',
        '"Straße"',
        '"İ ǆ ΣΑΣ ﬁ"',
        '"e\\u0301👩\u200d🚀"',
        '"one\\r\\ntwo\\n\\n"',
        '"a,b,,c,,"',
        '"50%_\\\\"',
    ],
    "?t": ['"a"', '"A"', '","', '""', '"%a%"', '"_"', '"12"', '"-9223372036854775808"', '"1e3"', '"true"', '"é"'],
    "?u": [
        '#duration "PT0S"',
        '#duration "P1M"',
        '#duration "-P1Y1M1DT1H"',
        '#duration "P31D"',
        '#duration "PT36H0.001S"',
        '#duration "P9000Y"',
        '#duration "P9223372036854775807D"',
    ],
    "?w": [":a", ":fact/name", ":open", ":z.y/x"],
    "?x": ["true", "false"],
    "?y": [
        '#uuid "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"',
        '#uuid "00000000-0000-0000-0000-000000000000"',
    ],
    "?z": ["[]", "[1 nil 1.0]", '["a" :a "b"]', "#{1 2N 3.0}", '[["a" 2] #{}]', "[##NaN -3 7]", "#{}"],
}

KINDS = {
    "number": ("?a", "?b", "?c", "?d", "?e"),
    "moment": ("?f",),
    "text": ("?s", "?t"),
    "duration": ("?u",),
    "keyword": ("?w",),
    "boolean": ("?x",),
    "uuid": ("?y",),
    "collection": ("?z",),
}
"""Kinds of values, and the variables that have them."""

CONSTANTS = {
    "number": ("1", "2", "-1", "10", "0.5", "1M", "2N", "nil"),
    "whole": ("?a", "?b", "?e", "4", "-7N", "1.0"),
    "long": ("?a", "?b", "0", "1", "2", "3", "-1", "6"),
    "moment": ('#inst "2000-02-29T12:34:56.789Z"',),
    "text": ('"a"', '"b,c"', '""'),
    "duration": ('#duration "PT1H"', '#duration "-P1M1D"'),
    "keyword": (":a", ":month"),
    "boolean": ("true", "false"),
    "uuid": ('#uuid "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"',),
    "collection": ("[1 2 3]", "#{:a}", '["a" "b"]'),
    "other": ("\\a", '#uri "http://a"', '#bytes "AAE="', "{:a 1}", "[]", "nil"),
    "pattern": (
        '"a"',
        '"[a-c]+"',
        '"(?i)A(.)?"',
        '","',
        '"^(.*),(.*)$"',
        '"\\\\d+"',
        '"\\\\s"',
        '"(a)|(b)"',
        '"."',
        '"(?s).*"',
        '"x*"',
    ),
    "replacement": ('""', '"<$0>"', '"\\\\$"', '"-"'),
    "format": (
        '"%s|%s"',
        '"%2$s %1$s"',
        '"%d|%5d"',
        '"%-6d|%d"',
        '"%05d|%+d"',
        '"%,d|%(d"',
        '"%x|%o"',
        '"%X%%%n%s"',
        '"%.2f|%8.1f"',
        '"%e|%.0e"',
        '"%,.1f|%+.3f"',
        '"%.2s|%-5s|"',
        '"%b|%B"',
        '"%y %s"',
        '"%s"',
    ),
    "unit": (":year", ":quarter", ":month", ":week", ":day", ":hour", ":minute", '"second"', ":century"),
    "zone": ('"Europe/Berlin"', '"America/New_York"', '"Asia/Kolkata"', '"UTC"', '"Nowhere/Town"'),
    "digits": ("0", "1", "2", "-1", "-2", "20", "1001"),
    "width": ("0", "3", "12", "-1"),
    "entity": ("1", "2", "3", "99", "?a"),
    "attribute": (":fact/name", ":fact/size", ":fact/none"),
    # A variable would be read as the type of the attribute.
    "default": ("0", "5N", '"none"', "nil", "[1]"),
    "transaction": ("0", "1", "2", "4398046511105", "4398046511106", "-1"),
}

FACTS = (
    '[{:db/id 1 :fact/name "Ada" :fact/size 3} {:db/id 2 :fact/size 4}]',
    '[[:db/add 3 :fact/name "Cy"]]',
)
"""Transactions that the built-ins of databases look into."""
