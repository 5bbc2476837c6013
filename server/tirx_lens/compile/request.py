"""What is asked of a build. The types are the worker's: they go over the pipe as they are."""

from tirx_lens.worker.messages import BuildRequest, Limits, Scalar, SourceFile

__all__ = ["BuildRequest", "Limits", "Scalar", "SourceFile"]
