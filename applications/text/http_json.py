"""POST JSON to a model on the network: retries with back-off, and errors that tell nothing secret."""

from __future__ import annotations

import json
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3.exceptions import HTTPError
from urllib3.util import Retry

from codec_superb.applications.errors import ModelUnusable, PredictionFailed
from codec_superb.applications.text.endpoint_settings import EndpointSettings

_BUSY = (408, 429, 500, 502, 503, 504)
_KEY_REFUSED = {401, 403}
_REQUEST_REFUSED = {400, 413, 422}
"""The server does not take this text; it may take others."""
_MAX_ANSWER = 256 << 20
"""Bytes: 2,048 vectors of 3,072 numbers in decimals are 130 MB."""


class JsonEndpoint:
    """One address, with its key."""

    def __init__(self, settings: EndpointSettings) -> None:
        """Open no connection yet. Raises MissingModel without a key."""
        self._settings = settings
        key = settings.key()
        headers = {"x-goog-api-key": key} if settings.api == "gemini" else {"Authorization": f"Bearer {key}"}
        self._session = requests.Session()
        self._session.headers.update(headers if key else {})
        # A .netrc would put another key in place of the named one.
        self._session.trust_env = False
        self._session.proxies = requests.utils.get_environ_proxies(settings.url)
        retry = Retry(
            settings.retries, backoff_factor=settings.backoff_s, status_forcelist=_BUSY, allowed_methods={"POST"},
            respect_retry_after_header=True, raise_on_status=False, redirect=0,
        )  # fmt: skip
        for scheme in ("https://", "http://"):
            self._session.mount(scheme, HTTPAdapter(max_retries=retry))

    def post(self, method: str, body: dict[str, Any]) -> Any:
        """Return the JSON that is answered to ``body`` at the address and ``method`` after it.

        Raises PredictionFailed for an answer that is none or a text that is refused; ModelUnusable, which ends the
        stage, for a key that is refused and a server that is not there or stays busy.
        """
        name = self._settings.model
        try:
            with self._session.post(
                self._settings.url + method, json=body, timeout=self._settings.timeout_s, allow_redirects=False,
                stream=True,
            ) as response:  # fmt: skip
                self._check(response)
                content = response.raw.read(_MAX_ANSWER + 1, decode_content=True)
        except (requests.RequestException, HTTPError, OSError) as error:
            raise ModelUnusable(f"{name} does not answer: {type(error).__name__}; try again later") from error
        if len(content) > _MAX_ANSWER:
            raise PredictionFailed(f"{name}: expected an answer of at most {_MAX_ANSWER} bytes, got more")
        try:
            return json.loads(content)
        except ValueError as error:
            raise PredictionFailed(f"{name}: expected JSON, got {content[:40]!r}") from error

    def close(self) -> None:
        """Close the connections."""
        self._session.close()

    def _check(self, response: requests.Response) -> None:
        status, name = response.status_code, self._settings.model
        if status in _KEY_REFUSED:
            raise ModelUnusable(
                f"{name}: the server refuses the key in {self._settings.key_variable or 'no variable'} ({status})"
            )
        if status in _REQUEST_REFUSED:
            raise PredictionFailed(f"{name}: the server refuses the request ({status})")
        if status != requests.codes.ok:
            tried = f" after {self._settings.retries} retries" if status in _BUSY else ""
            raise ModelUnusable(f"{name}: expected an answer, got status {status}{tried}; try again later")
