"""The eight super tasks of MSEB: tasks as data, their scorers, and its result files."""
