"""Storage of accepted submissions: their files on disk, clip blocks in the database, and reading parts of them."""
