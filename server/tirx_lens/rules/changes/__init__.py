"""Changes of a text that several fixes are made of."""
