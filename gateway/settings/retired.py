"""Settings of earlier versions that no operator turned: each is a constant beside what it bounds, or follows from
another setting. One that is still set has no effect, and is named in a warning at the start."""

from __future__ import annotations

from typing import Final

RETIRED: Final = frozenset(
    {
        *("bodies_bytes", "body_seconds", "cache_entry_bytes", "document_bytes", "fold_bytes"),
        *("follow_seconds", "head_bytes", "head_seconds", "idempotency_transactions", "init_seconds"),
        *("jwt_clock_skew_seconds", "jwt_keys_pause_seconds", "jwt_keys_seconds"),
        *("jwt_keys_timeout_seconds", "live_chunk_rows", "live_mailbox_bytes", "live_mailbox_events"),
        *("live_mailboxes_bytes", "live_replayed", "live_subscriptions_per_principal"),
        *("operations_per_connection", "ping_seconds", "plan_cache_bytes", "queries_waiting"),
        *("query_aliases", "query_bytes", "query_depth", "query_fields", "query_tokens"),
        *("rate_burst_units", "redis_entry_bytes", "redis_ttl", "request_values", "responses_bytes"),
        *("send_rate", "send_seconds", "transactions_waiting", "worker_seconds"),
    }
)
