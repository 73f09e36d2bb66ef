"""Language models over tokens of codecs: of several seeds and amounts of sound, tried on held-out clips."""
