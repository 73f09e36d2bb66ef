"""Run folders: what a run consists of on disk, how it is opened, locked, continued and stamped."""
