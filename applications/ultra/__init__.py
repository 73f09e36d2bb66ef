"""The codec scheme of UltraEval-Audio: semantics, timbre and acoustics on three datasets, and their average."""
