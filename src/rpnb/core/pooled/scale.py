"""The scale of the features, found by learning the first rows again: see scale.h."""

from typing import Final

from rpnb._core.pooled import FeatureScale

__all__ = ["CLIP", "LAST_REPLAY", "LOOK", "FeatureScale"]

#: Labelled rows after which the scale is fixed.
LAST_REPLAY: Final = 256
#: Labelled rows between two examinations of the scale thereafter.
LOOK: Final = 64
#: Standard deviations beyond which scaled values are clipped.
CLIP: Final = 6.0
