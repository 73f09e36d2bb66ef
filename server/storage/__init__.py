"""Files and blocks of accepted submissions: kept on disk and in the database, read by part."""
