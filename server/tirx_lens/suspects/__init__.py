"""From a symptom to what of a kernel may cause it, in the order in which to look."""
