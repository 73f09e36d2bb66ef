"""Charts over all results: scores and applications against bitrate, correlations of metrics, spread over clips."""
