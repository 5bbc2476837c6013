"""TIRx Lens: a language server for people who write TIRx kernels."""

__version__ = "0.1.0"
