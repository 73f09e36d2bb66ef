"""Index a dataset from the publisher's folder or the hub: write its clip list and report its completeness."""
