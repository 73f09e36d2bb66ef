"""Which names are shown in a chart."""

from codec_superb.web.figures.labels import fitting_labels


def test_lone_names_are_shown() -> None:
    """Names with room around them all stay."""
    assert fitting_labels([(0.3, 0.3), (0.8, 0.8)], ["first", "second"], []) == [True, True]


def test_of_two_that_overlap_the_higher_stays() -> None:
    """The better codec keeps its name."""
    assert fitting_labels([(0.5, 0.5), (0.505, 0.51)], ["lower", "upper"], []) == [False, True]


def test_no_name_leaves_the_plot() -> None:
    """A name that would begin left of the axis is left out."""
    assert fitting_labels([(0.01, 0.5)], ["a long name"], []) == [False]


def test_no_name_covers_a_mark() -> None:
    """A name over another codec's mark is left out."""
    assert fitting_labels([(0.5, 0.5)], ["long enough"], [(0.46, 0.53)]) == [False]
