"""Facts about a kernel that several rules ask for, each worked out in one module."""
