"""Online preprocessing: each row is scaled by the rows before it."""

from rpnb.estimators.checks.spread import SpreadWarning
from rpnb.preprocessing.pipeline import StreamPipeline, make_stream_pipeline
from rpnb.preprocessing.scaler import RunningScaler

__all__ = ["RunningScaler", "SpreadWarning", "StreamPipeline", "make_stream_pipeline"]
