"""plannerd from Python: a client of its API, and where keys go by its routing tables."""

from plannerd.client import Client, backtest_frame
from plannerd.errors import NotModified, PlannerdError, Refused
from plannerd.rows import Rows
from plannerd.transport import Answer, Retry

__all__ = ["Answer", "Client", "NotModified", "PlannerdError", "Refused", "Retry", "Rows", "backtest_frame"]
__version__ = "1.0.0"
