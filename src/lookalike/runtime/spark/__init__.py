"""The engine of many machines: the same stages over Arrow batches, shuffled by keys. Only this room imports pyspark."""
