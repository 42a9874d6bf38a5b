"""Kernels that are compiled as parts of the kernels that call them.

Numba makes machine code of each function, and once more of each function that calls it:
a function's code is optimised, translated, linked into the code of its callers, and
optimised and translated there again. Most kernels are called by kernels only. Of these
nothing but LLVM's intermediate code is made here. It becomes part of the callers' code,
and is optimised and translated once, with the kernel that Python calls: a third less
time for all kernels of `PooledClassifier`. Methods run inside the compiler, where
coverage cannot be measured.
"""

from collections.abc import Callable
from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import LoweringPass, register_pass
from numba.core.environment import lookup_environment
from numba.core.registry import CPUDispatcher
from numba.core.sigutils import normalize_signature
from numba.core.typed_passes import NativeLowering


class _LinkedLibrary(JITCodeLibrary):
    """Code of a function and of all that it calls, not optimised."""

    def finalize(self) -> None:  # pragma: no cover
        """Link the code of the functions that are called."""
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            module = library._get_module_for_linking()
            self._final_module.link_in(module, preserve=True)
        self._finalize_dynamic_globals()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _LinkedLowering(NativeLowering):
    """Make intermediate code, and no more."""

    _name = "linked_lowering"

    def run_pass(self, state: Any) -> bool:  # pragma: no cover
        codegen = state.targetctx.codegen()
        state.library = _LinkedLibrary(codegen, state.func_id.func_qualname)
        state.flags.no_compile = True
        return bool(super().run_pass(state))


@register_pass(mutates_CFG=False, analysis_only=True)
class _SetEnvironments(LoweringPass):
    """Set the environments of all functions that are linked into a kernel.

    Numba sets that of a function when it has made machine code of it.
    """

    _name = "set_environments"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:  # pragma: no cover
        for variable in state.library._final_module.global_variables:
            if variable.name.startswith("_ZN08NumbaEnv"):
                environment = lookup_environment(variable.name)
                if environment is not None:
                    state.library.codegen.set_env(variable.name, environment)
        return False


class KernelCompiler(CompilerBase):
    """How a kernel is compiled that Python calls."""

    def define_pipelines(self) -> list[Any]:  # pragma: no cover
        """Return Numba's steps, and one that is needed for what is linked."""
        steps = DefaultPassBuilder.define_nopython_pipeline(self.state)
        steps.add_pass_after(_SetEnvironments, NativeLowering)
        steps.finalize()
        return [steps]


class _LinkedCompiler(CompilerBase):
    """How a kernel is compiled that kernels call."""

    def define_pipelines(self) -> list[Any]:  # pragma: no cover
        steps = DefaultPassBuilder.define_nopython_pipeline(self.state)
        steps.passes = [
            (_LinkedLowering if step is NativeLowering else step, description)
            for step, description in steps.passes
        ]
        steps.finalize()
        return [steps]


class LinkedKernel(CPUDispatcher):
    """A function that kernels can call, and Python cannot."""

    def __init__(
        self, function: Callable[..., Any], targetoptions: dict[str, Any]
    ) -> None:
        options = {**targetoptions, "no_cpython_wrapper": True}
        super().__init__(
            function, targetoptions=options, pipeline_class=_LinkedCompiler
        )
        self._keys: dict[tuple[Any, ...], object] = {}

    def add_overload(self, compiled: Any) -> None:
        """Take what was compiled for some types."""
        arguments = tuple(compiled.signature.args)
        self.overloads[arguments] = compiled
        self._keys[arguments] = key = object()
        self.targetctx.insert_user_function(key, compiled.fndesc, [compiled.library])

    def get_overload(self, sig: Any) -> Any:
        """Return by what the compiler finds the code for some types."""
        return self._keys[tuple(normalize_signature(sig)[0])]
