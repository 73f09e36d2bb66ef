"""A track of XARES-LLM from end to end: decoders of several seeds, trained and tried on references and resyntheses."""
