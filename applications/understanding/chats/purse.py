"""What a command may spend on servers: a request is promised at its highest cost, and paid at its own."""

from __future__ import annotations

import threading

from codec_superb.applications.errors import ModelUnusable
from codec_superb.applications.interface import Terms
from codec_superb.applications.understanding.chats.kept import paid, pay
from codec_superb.applications.understanding.chats.settings import Prices


class Purse:
    """The money of one model's requests, of any number of threads; chats and judges of a command share its ledger."""

    def __init__(self, model: str, prices: Prices) -> None:
        """``model`` is named in messages and in the ledger."""
        self._model, self._prices = model, prices
        self._lock = threading.Lock()
        self._promised = self._paid = 0.0
        self._command, self._read_to = "", 0

    def promise(self, terms: Terms, most: float) -> None:
        """Count a request at its highest cost. Raises ModelUnusable where the budget does not suffice."""
        with self._lock:
            spent = 0.0 if terms.budget is None else self._spent(terms.command) + self._promised
            if terms.budget is not None and spent + most > terms.budget:
                raise ModelUnusable(
                    f"{self._model}: {spent:.4f} of the budget of {terms.budget:g} {self._prices.currency} are spent "
                    f"or promised, and the next request may cost {most:.4f}; "
                    "what is answered is kept: go on with the same command and another --budget"
                )
            self._promised += most

    def settle(self, terms: Terms, key: str, most: float, cost: float) -> None:
        """Take a promise back and write down what the request did cost, if anything. Raises OSError."""
        with self._lock:
            self._promised -= most
            if cost:
                pay(terms.command, key, self._model, cost)

    def _spent(self, command: str) -> float:
        """Read what is new in the ledger: a chat in a worker process and a judge elsewhere pay out of one budget."""
        if command != self._command:
            self._command, self._paid, self._read_to = command, 0.0, 0
        more, self._read_to = paid(command, self._read_to)
        self._paid += more
        return self._paid
