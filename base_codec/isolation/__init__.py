"""The isolated runtime: private environments for codecs and models with conflicting packages, and their workers."""
