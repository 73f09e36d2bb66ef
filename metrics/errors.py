"""The two ways in which a metric gives no number; neither is ever turned into one."""


class MetricError(Exception):
    """Base of this package's errors."""


class Undefined(MetricError):
    """The metric has no meaning on this pair (PESQ where no utterance is found): the text is the reason shown."""


class InvalidAudio(MetricError):
    """The arrays do not follow the contract (shape, dtype, NaN, unequal length): expected and got are in the text."""
