"""The benchmark: Surefoot's agents compared with other libraries, on one core, in one process."""
