"""Stands in for triton, as its neighbour does for torch."""

import sys

import torch

sys.modules[__name__].__class__ = torch.Module
__path__ = ()
