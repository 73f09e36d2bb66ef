"""Worker processes: tasks go out, results come back in any order, and a worker that dies costs one clip."""
