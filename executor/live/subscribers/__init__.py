"""The subscriber's end of a stream: events, mailboxes, delivery to event loops and threads, resume tokens."""
