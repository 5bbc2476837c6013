"""The worksheet of a kernel: its roles, storage, handoffs and lifetimes, read off the model."""
