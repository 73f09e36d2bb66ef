"""Time alignment: speech activity, utterances and their delays."""
