"""Application metrics of codecs: probes such as speech recognition, each a model backend plus pure scoring."""
