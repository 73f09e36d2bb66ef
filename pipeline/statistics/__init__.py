"""Statistics over clip rows: bootstrap intervals, paired comparison, rank intervals, Bjøntegaard deltas."""
