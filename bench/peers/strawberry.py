"""An empty Strawberry resolver on the uvicorn settings that adalog serves with: what any such server pays.

`python -m bench.peers.strawberry PORT`
"""

from __future__ import annotations

import socket
import sys

import strawberry
from starlette.applications import Starlette
from starlette.routing import Route
from strawberry.asgi import GraphQL

from gateway.config import Settings
from gateway.server import Server


@strawberry.type
class Query:
    @strawberry.field
    def empty(self) -> str:
        return ""


def main() -> None:
    graphql: GraphQL[None, None] = GraphQL(strawberry.Schema(Query), graphql_ide=None)
    app = Starlette(routes=[Route("/graphql", graphql)])
    with socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=1024) as listener:
        Server(app, Settings()).run(sockets=[listener])


if __name__ == "__main__":
    main()
