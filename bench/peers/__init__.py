"""The databases that adalog is measured against, one module each, each a `bench.work.Contestant`."""

from __future__ import annotations

from importlib import import_module

from bench.work import Contestant

# Module and class of each contestant, imported in its own process only.
_CONTESTANTS = {
    "adalog": ("bench.adalog", "Adalog"),
    "DuckDB": ("bench.peers.duckdb", "DuckDb"),
    "Ladybug": ("bench.peers.ladybug", "Ladybug"),
    "Oxigraph": ("bench.peers.oxigraph", "Oxigraph"),
    "Cozo": ("bench.peers.cozo", "Cozo"),
    "nemo": ("bench.peers.nemo", "Nemo"),
    "SciPy": ("bench.peers.libraries", "SciPy"),
    "NetworkX": ("bench.peers.libraries", "NetworkX"),
    "DataScript": ("bench.peers.datascript", "DataScript"),
}


def contestant(name: str) -> Contestant:
    """A fresh instance of the named contestant."""
    module, cls = _CONTESTANTS[name]
    made: Contestant = getattr(import_module(module), cls)()
    return made
