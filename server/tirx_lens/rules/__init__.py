"""The rules, one a module, and the engine that runs them."""
