"""The bounds of subscriptions. The gateway has settings for their number, their memory and `progress_seconds`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LiveSettings:
    """`subscriptions` of the process, and of one principal.

    `mailbox_events`, `mailbox_bytes`: what waits for one subscriber before it is merged; `mailboxes_bytes`: for
    all of them. `replayed`: transactions of a gap that are told one by one. `chunk_rows`: of a snapshot.
    `memory_bytes`: what all views and unread snapshots may hold together, one of them half of it. `recent_bytes`,
    `recent_events`: of the events that are kept for new subscribers. `timeout_ms`: of an answer and of a step.
    """

    subscriptions: int = 50_000
    subscriptions_per_principal: int = 20_000
    mailbox_events: int = 256
    mailbox_bytes: int = 1 << 20
    mailboxes_bytes: int = 64 << 20
    replayed: int = 64
    chunk_rows: int = 1_000
    progress_seconds: float = 15.0
    memory_bytes: int = 256 << 20
    recent_events: int = 4_096
    recent_bytes: int = 8 << 20
    timeout_ms: int = 60_000
