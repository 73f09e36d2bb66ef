"""Float32 vectors, transforms and powers that round as the programme of the standard does."""
