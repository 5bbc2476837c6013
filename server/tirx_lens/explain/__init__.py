"""What a kernel's text means at a place: who runs it, what a barrier is, who waits for whom."""
