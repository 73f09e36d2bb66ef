"""Worker processes: run tasks in parallel, return results in any order, and survive the death of a worker."""
