"""Private datasets: registered by maintainers, run by the worker, shown as one score and one gap a category."""
