"""Two to six codecs side by side: paired differences on shared clips, wins and losses, blind listening."""
