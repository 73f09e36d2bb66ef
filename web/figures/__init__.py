"""Figure builders: pure functions from typed rows to Plotly figures, for the report and for other pages."""

from codec_superb.web.figures.distribution import Quantiles, distribution_chart, quantiles_of
from codec_superb.web.figures.layout import Figure
from codec_superb.web.figures.pareto import pareto_front
from codec_superb.web.figures.rate import rate_chart
from codec_superb.web.figures.scatter import AxisChoice, scatter_chart

__all__ = [
    "AxisChoice",
    "Figure",
    "Quantiles",
    "distribution_chart",
    "pareto_front",
    "quantiles_of",
    "rate_chart",
    "scatter_chart",
]
