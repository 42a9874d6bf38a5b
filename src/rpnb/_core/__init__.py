"""The compiled core: C++ kernels, for the instructions that this processor has.

The same sources are compiled for several levels of instructions, each an extension
module beside this file, and the best one that the processor has is taken. All compute
the same bits. The environment variable ``RPNB_LEVEL`` asks for another one.
"""

import os
import sys
from importlib import import_module
from types import ModuleType

from rpnb._core._processor import supported_levels


def _choose() -> str:
    """Return the level to use: the one asked for, or the best one there is."""
    supported = supported_levels()
    if not supported:
        raise ImportError(
            "rpnb needs a processor with SSE4.2 and POPCNT (x86-64-v2), and this one "
            "has no such instructions"
        )
    wanted = os.environ.get("RPNB_LEVEL", "")
    if not wanted:
        return supported[-1]
    if wanted not in supported:
        raise ImportError(
            f"RPNB_LEVEL is {wanted!r}, but this processor has {', '.join(supported)}"
        )
    return wanted


def _load(level: str) -> ModuleType:
    """Return the extension module, its submodules importable by their names."""
    module = import_module(f"{__name__}._{level}")
    for name, value in vars(module).items():
        if isinstance(value, ModuleType):
            sys.modules[f"{__name__}.{name}"] = value
            globals()[name] = value
    return module


level = _choose()
"""The level of instructions in use."""
_load(level)
