"""What an H200 did with each mistake in a TMA ring, and what the rules say of it."""
