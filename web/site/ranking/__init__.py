"""Pages about ranks: bands and aggregated ranks, and states of the board that can be cited."""
