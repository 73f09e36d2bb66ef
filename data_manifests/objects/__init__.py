"""Objects of a store (S3, Google Cloud Storage, the hub): read by range requests, kept in a bounded cache."""
