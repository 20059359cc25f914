"""The Spark engine: the same stages over Arrow batches, shuffled by key. Only this package imports pyspark."""
