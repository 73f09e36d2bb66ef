"""Runs: resynthesise, score, aggregate, pack; run folders, executors, the submission schema, statistics."""
