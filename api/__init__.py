"""The Python interface: what ``codec_superb`` gives under its own name, on top of the pipeline of the command line."""
