"""A chat for tests: says what it was asked and heard; a question asks for faults."""

from __future__ import annotations

import os


class Guest:
    """Answers with what came through the pipe."""

    def __init__(self, description, device):  # noqa: ANN001, ANN204
        self.name = f"{description['weights']} on {device}"

    def reply(self, samples, messages):  # noqa: ANN001, ANN201
        """Return roles, parts and the number of samples, or do what the last text asks for."""
        last = messages[-1][1][-1][1]
        if last == "die":
            os._exit(9)
        if last == "number":
            return 7
        if last == "raise":
            raise ValueError("this question is not to my taste")
        said = "; ".join(f"{role}: {' | '.join(text or kind for kind, text in parts)}" for role, parts in messages)
        return f" {said}; {samples.dtype} {samples.size}; {self.name} \n\n"
