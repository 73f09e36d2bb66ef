"""Names of codecs and families and titles: whose they are, and which of them look the same."""
