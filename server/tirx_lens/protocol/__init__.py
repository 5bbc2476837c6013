"""The handoff model: what a kernel's roles hand to each other, run to its end in small."""
