"""The scale of the features, estimated from the first rows: see scale.h."""

from typing import Final

from rpnb._core.pooled import FeatureScale

__all__ = ["LAST_REPLAY", "LOOK", "FeatureScale"]

#: Labelled rows after which the scale is fixed.
LAST_REPLAY: Final = 256
#: Labelled rows between later checks of the scale.
LOOK: Final = 64
