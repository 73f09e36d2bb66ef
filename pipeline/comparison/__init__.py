"""Two or more codecs side by side: paired differences, families over bitrates, published figures."""
