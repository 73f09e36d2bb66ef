"""What is read out of frames: the page, its charts and its API, and the published boards of XARES-LLM apart."""
