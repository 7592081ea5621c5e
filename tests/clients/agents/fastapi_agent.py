"""FastAPI's and pydantic's own types in an app of ours."""
from typing import Annotated, List, Optional

from fastapi import Body, Depends, Header, HTTPException, Query, Request
from fastapi.responses import PlainTextResponse, StreamingResponse
from hutch_agent import AgentApp
from pydantic import BaseModel, Field

app = AgentApp(app_name="types")


class Item(BaseModel):
    name: str
    price: float = Field(1.0, gt=0)


@app.post("/item")
def item(item: Item):
    return item


@app.post("/items")
def items(items: List[Item]):
    return {"names": [i.name for i in items]}


@app.post("/two")
def two(item: Item, note: str = Body("none"), q: Optional[int] = Query(None)):
    return [item.name, note, q]


@app.get("/query")
def query(a: int = Query(..., alias="A"), b: Annotated[str, Query()] = "x",
          agent: str = Header("nobody", alias="user-agent")):
    return [a, b, agent]


def who(x_user: Annotated[str, Header()]):
    if x_user == "eve":
        raise HTTPException(403, "not you")
    return x_user


@app.get("/who")
def whoami(user: str = Depends(who)):
    return user


@app.post("/raw")
async def raw(request: Request):
    body = await request.json()
    return PlainTextResponse(f"{request.method} {request.url.path} {body}",
                             headers={"x-a": request.query_params["q"]})


@app.get("/stream")
def stream():
    async def pieces():
        yield "a"
        yield b"b"
    return StreamingResponse(pieces(), media_type="text/x")
