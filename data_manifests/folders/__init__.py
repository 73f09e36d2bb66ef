"""Any folder of audio as a dataset, with the labels of an optional ``labels.csv``."""
