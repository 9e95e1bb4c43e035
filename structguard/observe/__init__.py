"""Sinks for events: `log_events` writes them with the standard library's logging."""

from structguard.observe.log import (
    Careful as Careful,
    careful as careful,
    log_events as log_events,
)
