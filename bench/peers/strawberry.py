"""An empty Strawberry resolver on uvicorn with uvloop and httptools, as adalog is: what any such server pays.

`python -m bench.peers.strawberry PORT`
"""

from __future__ import annotations

import socket
import sys

import strawberry
import uvicorn
from starlette.applications import Starlette
from starlette.routing import Route
from strawberry.asgi import GraphQL


@strawberry.type
class Query:
    @strawberry.field
    def empty(self) -> str:
        return ""


def main() -> None:
    graphql: GraphQL[None, None] = GraphQL(strawberry.Schema(Query), graphql_ide=None)
    app = Starlette(routes=[Route("/graphql", graphql)])
    with socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=1024) as listener:
        config = uvicorn.Config(
            app, loop="uvloop", http="httptools", lifespan="off", access_log=False, log_level="warning"
        )
        uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
