"""What is read out of frames: encoders, codecs as encoders, and resynthesised sound, by task and by bits a second."""
