"""Language models over a codec's tokens: how well a decoder-only transformer predicts them on sound it never saw."""
