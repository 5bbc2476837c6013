"""A problem of one kernel, put together for somebody else to look at."""
