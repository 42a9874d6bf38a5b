"""Asking for memory before it is needed.

A kernel that reads scattered places waits for each of them. Where it knows some time
before which places these will be, it can ask for them, and does other work meanwhile.
Uncompiled that is nothing; compiled it is one instruction.
"""

from typing import Any

from llvmlite import ir
from numba.core import types

from rpnb.core.kernels.compiling.operations import LANE, emit_address, emit_instead


def prefetch(values: Any, at: int) -> None:
    """Ask for the number at place `at` of a contiguous array, in the order of memory.

    Nothing is read, and the place may be outside the array.
    """


def _type_prefetch(array: Any, at: Any) -> Any:  # pragma: no cover - in the compiler
    def emit(context: Any, builder: Any, shape: Any, values: Any) -> Any:
        byte = ir.IntType(8)
        place = emit_address(context, builder, shape.args[0], values, byte)
        name = "llvm.prefetch.p0i8"
        function = builder.module.globals.get(name)
        if function is None:
            kind = ir.FunctionType(ir.VoidType(), [place.type, LANE, LANE, LANE])
            function = ir.Function(builder.module, kind, name)
        # To be written to, to be kept as near as may be, data.
        settings = [ir.Constant(LANE, value) for value in (1, 3, 1)]
        builder.call(function, [place, *settings])
        return context.get_dummy_value()

    return types.void(array, types.intp), emit


emit_instead(prefetch, _type_prefetch)
