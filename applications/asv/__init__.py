"""Speaker verification and speaker similarity: backends that embed a clip, trials, and scoring."""
