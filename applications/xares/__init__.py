"""XARES-LLM: how much of a sound a small language model can read out of the frames of a frozen encoder."""
