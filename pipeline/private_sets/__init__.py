"""Private datasets: what is published of one, and a codec's rows on it, measured where nothing of them stays."""
