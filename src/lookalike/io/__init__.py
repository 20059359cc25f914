"""Readers, writers and result folders: `read`, `write`, `results`, and their parts."""
