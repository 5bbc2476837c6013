"""Reading generated CUDA: the PTX its helpers wrap, its landmarks, and what is wrong in it."""
