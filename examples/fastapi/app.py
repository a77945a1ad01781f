"""Issues of the projects that a user is a member of: a page that follows every change, in FastAPI.

adalog decides what a user sees and may write, live too: each user's requests have the user's own token.
"""

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated

from fastapi import Body, Cookie, Depends, FastAPI, HTTPException, Request, Response
from fastapi.responses import FileResponse, JSONResponse, StreamingResponse

import adalog

SERVER = os.environ.get("ADALOG_URL", "http://127.0.0.1:8080")
PROJECTS = "[:find [?name ...] :where [_ :project/name ?name] :order-by [?name]]"
ISSUES = """[:find ?title ?project
             :where [?issue :issue/title ?title] [?issue :issue/project ?p] [?p :project/name ?project]]"""
CREATE = "[{:issue/title ?title :issue/project [:project/name ?project]}]"
STATUS = {"UNAUTHENTICATED": 401, "FORBIDDEN": 403, "RATE_LIMITED": 429, "BACKEND_UNAVAILABLE": 503}

users: dict[str, adalog.AsyncConnection] = {}  # by token


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncIterator[None]:
    yield
    for db in users.values():
        await db.close()


app = FastAPI(lifespan=lifespan)


def user(token: Annotated[str, Cookie()] = "") -> adalog.AsyncConnection:
    if token not in users:
        raise HTTPException(401, "log in first")
    return users[token]


User = Annotated[adalog.AsyncConnection, Depends(user)]


@app.exception_handler(adalog.Error)
def refused(_: Request, error: adalog.Error) -> Response:
    return JSONResponse({"detail": str(error)}, STATUS.get(error.code, 400))


@app.get("/")
def page() -> Response:
    return FileResponse(Path(__file__).with_name("index.html"))


@app.post("/login")
async def login(token: Annotated[str, Body(embed=True)], response: Response) -> list[str]:
    async with adalog.aconnect(SERVER, token=token) as db:
        projects = await db.q(PROJECTS)  # a token that the server does not know ends here
    users[token] = users.get(token) or await adalog.aconnect(SERVER, token=token)
    response.set_cookie("token", token, httponly=True, samesite="strict")
    return list(projects.value)


@app.post("/issues", status_code=201)
async def create(title: Annotated[str, Body()], project: Annotated[str, Body()], db: User) -> int:
    return (await db.transact(CREATE, args={"title": title, "project": project})).t


@app.get("/live")
async def live(db: User) -> Response:
    async def events() -> AsyncIterator[str]:
        async with db.live(ISSUES) as changes:
            async for change in changes:
                rows = {"kind": change.kind, "added": change.added, "retracted": change.retracted}
                yield f"data: {json.dumps(rows)}\n\n"

    return StreamingResponse(events(), media_type="text/event-stream")
