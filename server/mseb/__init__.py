"""MSEB's super tasks: the page, its charts and its API, and the published encoders beside the codecs."""
