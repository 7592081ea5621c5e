"""Agents for hutch, in Python: see AgentApp, and hutch-worker(7).

    from hutch_agent import AgentApp, AgentRequest
"""
from . import events
from .app import AgentApp, Router, Runner
from .errors import AgentError, Conflict, ServiceError
from .http import (Depends, HTMLResponse, HTTPException, JSONResponse,
                   PlainTextResponse, RedirectResponse, Request, Response,
                   StreamingResponse)
from .request import (AgentRequest, AgentResponse, Content, Message, Record)
from .services import Session

APIRouter = Router

__all__ = [
    "APIRouter", "AgentApp", "AgentError", "AgentRequest", "AgentResponse",
    "Conflict", "Content", "Depends", "HTMLResponse", "HTTPException", "JSONResponse",
    "Message", "PlainTextResponse", "Record", "RedirectResponse", "Request",
    "Response", "Router", "Runner", "ServiceError", "Session",
    "StreamingResponse", "events",
]
