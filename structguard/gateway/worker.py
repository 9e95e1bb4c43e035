"""
What one worker process serves: the app of the settings its parent left in the environment.

Only `structguard serve --workers N` starts it; a variable, because each worker is a new process.
"""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path

from structguard.gateway.app import Gateway, create_app
from structguard.gateway.config import Config, LogConfig, embedded
from structguard.gateway.config_file import read_config
from structguard.gateway.metrics import forget_dead_workers
from structguard.types import as_mapping, as_text

VARIABLE = "STRUCTGUARD_GATEWAY"


def handed_down(config: str | None, upstream: str | None, workers_dir: Path | None) -> str:
    """What a parent puts into `VARIABLE`; it holds no secret."""
    return json.dumps(
        {
            "config": config,
            "upstream": upstream,
            "workers_dir": None if workers_dir is None else str(workers_dir),
        }
    )


def app() -> Gateway:
    """
    The app; uvicorn calls this once a worker.

    Raises:
        ConfigError, MissingExtra: as in the parent.
    """
    given = as_mapping(json.loads(os.environ[VARIABLE])) or {}
    directory = as_text(given.get("workers_dir"))
    if directory:
        forget_dead_workers(Path(directory))  # this process may replace one that was killed
    config = settings(as_text(given.get("config")), as_text(given.get("upstream")))
    set_up_logging(config.log)
    return create_app(config, workers_dir=Path(directory) if directory else None)


def settings(config: str | None, upstream: str | None) -> Config:
    """
    The settings of a file, or of one upstream.

    Raises:
        ConfigError: what is wrong with them.
    """
    return read_config(config) if config is not None else embedded(upstream or "")


class JsonLines(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as JSON."""
        line = {
            "time": self.formatTime(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


def set_up_logging(config: LogConfig) -> None:
    """Lines on stderr, of our loggers and uvicorn's."""
    handler = logging.StreamHandler()
    handler.setFormatter(
        JsonLines()
        if config.format == "json"
        else logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    for name in ("structguard", "uvicorn.error"):
        logging.getLogger(name).setLevel(config.level.upper())
