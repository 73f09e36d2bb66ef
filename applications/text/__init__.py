"""Second stages: what turns a transcript into a vector (text encoders) or into an answer (readers)."""
