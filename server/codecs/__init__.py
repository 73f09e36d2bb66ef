"""One codec: its page, its figures, and its listening samples with their spectrograms."""
