"""What is kept: the catalogue of experiments and runs (SQL), their logs and tables (Parquet), bundles."""
