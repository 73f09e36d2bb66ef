"""Two to six codecs side by side: differences on the clips they share, where each wins, blind listening."""
