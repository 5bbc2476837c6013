"""Finding the kernel the user asked for: calling its builder, taking what it returns apart."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from .failures import BuildError, Place, definition_line, diagnose, short_name
from .kinds import Kinds
from .messages import BuildDiagnostic, Severity, Stage
from .registered import Config, UnknownConfigError, config_of

if TYPE_CHECKING:
    from types import ModuleType

    from .messages import BuildRequest
    from .sources import SourceTree


@dataclass(frozen=True, slots=True)
class Kernel:
    """A function of TVM's (`tvm.tirx.PrimFunc`), and the name its author gave it.

    `arguments` are what its builder was called with, and `config` the label they have as a whole.
    """

    name: str
    function: Any
    arguments: Mapping[str, Any] = field(default_factory=dict)
    config: str | None = None


def find_kernels(module: ModuleType, request: BuildRequest, tree: SourceTree) -> tuple[Kernel, ...]:
    """Return the kernels a request is about. Raises BuildError with the reason there are none."""
    finder = _Finder(module, request, tree)
    return finder.from_builder() if request.builder is not None else finder.from_module()


class _Finder:
    def __init__(self, module: ModuleType, request: BuildRequest, tree: SourceTree) -> None:
        self._module = module
        self._request = request
        self._tree = tree
        kinds = Kinds.loaded()
        self._prim_func, self._ir_module, self._jit = kinds.functions, kinds.modules, kinds.jits

    def from_module(self) -> tuple[Kernel, ...]:
        """Return the module-level kernels, or the one that is asked for by name."""
        wanted = self._request.kernel
        if wanted is not None:
            value = self._named(wanted)
            return self._kernels_of(value, wanted, Place(self._request.entry, 1))
        kernels: list[Kernel] = []
        for name, value in list(vars(self._module).items()):
            if isinstance(value, (*self._prim_func, *self._ir_module)):
                kernels += self._unpack(value, name)
        if not kernels:
            raise self._failure(
                f"{short_name(self._request.entry)} holds no kernel at module level",
                Place(self._request.entry, 1),
            )
        return tuple(kernels)

    def from_builder(self) -> tuple[Kernel, ...]:
        """Call the builder and return the kernels of its result."""
        name = self._request.builder or ""
        builder = self._named(name)
        if isinstance(builder, (*self._jit, *self._prim_func, *self._ir_module)):
            return self._kernels_of(builder, name, self._place_of(builder))
        if not callable(builder):
            raise self._failure(
                f"{name} is {_article(type(builder).__name__)}, which builds no kernel",
                Place(self._request.entry, 1),
            )
        place = self._place_of(builder)
        config = self._config(name, place)
        arguments, rest = self._arguments(builder, name, place, config)
        try:
            value = builder(**arguments)
        except BaseException as error:
            doing = f"{name}({_spelled(arguments)})"
            raise BuildError(diagnose(error, Stage.BUILDER, doing, self._tree)) from error
        kernels = self._kernels_of(value, name, place, rest)
        if config is None:
            return kernels
        return tuple(replace(item, arguments=arguments, config=config.label) for item in kernels)

    def _config(self, name: str, place: Place | None) -> Config | None:
        try:
            return config_of(self._module, name, self._request.config)
        except UnknownConfigError as error:
            raise self._failure(str(error), place) from error

    def _named(self, name: str) -> Any:
        value = self._module
        for part in name.split("."):
            if not hasattr(value, part):
                raise self._failure(
                    f"{short_name(self._request.entry)} defines no {name!r}",
                    Place(self._request.entry, 1),
                )
            value = getattr(value, part)
        return value

    def _arguments(
        self, builder: Any, name: str, place: Place | None, config: Config | None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Split the arguments into those of the builder and those left for a `T.jit` kernel."""
        given: dict[str, Any] = {**(config.parameters if config else {}), **self._request.args}
        try:
            parameters = inspect.signature(builder).parameters
        except (TypeError, ValueError):  # a callable that tells nothing takes what it is given
            return given, {}
        keywords = [
            parameter.name
            for parameter in parameters.values()
            if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        ]
        missing = [
            parameter.name
            for parameter in parameters.values()
            if parameter.default is parameter.empty
            and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
            and parameter.name not in given
        ]
        if missing:
            raise self._missing(name, missing, place)
        if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
            return given, {}
        return (
            {key: value for key, value in given.items() if key in keywords},
            # A configuration also has what data is made of and compared with.
            {key: value for key, value in self._request.args.items() if key not in keywords},
        )

    def _kernels_of(
        self, value: Any, name: str, place: Place | None, rest: Mapping[str, Any] | None = None
    ) -> tuple[Kernel, ...]:
        given = self._request.args if rest is None else rest
        if isinstance(value, self._jit):
            value = self._specialize(value, name, dict(given), place)
        elif given and rest is not None:
            unknown = ", ".join(map(repr, given))
            raise self._failure(f"{name} has no parameter {unknown}", place)
        kernels = self._unpack(value, name)
        if not kernels:
            what = "None" if value is None else _article(type(value).__name__)
            raise self._failure(f"{name} returns {what}, not a kernel", place)
        wanted = self._request.kernel
        if wanted is None or len(kernels) == 1:
            return tuple(kernels)
        chosen = tuple(kernel for kernel in kernels if kernel.name == wanted)
        if not chosen:
            names = ", ".join(kernel.name for kernel in kernels)
            raise self._failure(f"{name} builds no kernel {wanted!r}, it builds {names}", place)
        return chosen

    def _specialize(self, jit: Any, name: str, given: dict[str, Any], place: Place | None) -> Any:
        known = set(jit.constexpr_names) | set(getattr(jit, "optional_names", ()))
        unknown = sorted(set(given) - known)
        if unknown:
            raise self._failure(f"{name} has no parameter {', '.join(map(repr, unknown))}", place)
        missing = sorted(set(jit.constexpr_names) - set(jit.constexpr_defaults) - set(given))
        if missing:
            raise self._missing(name, missing, place or self._place_of(jit))
        try:
            return jit.specialize(**given)
        except BaseException as error:
            doing = f"{name}.specialize({_spelled(given)})"
            raise BuildError(diagnose(error, Stage.PARSE, doing, self._tree)) from error

    def _unpack(self, value: Any, name: str) -> list[Kernel]:
        if isinstance(value, self._prim_func):
            return [Kernel(_name_of(value, name), value)]
        if isinstance(value, self._ir_module):
            functions = value.functions.items()  # type: ignore[attr-defined]
            return [
                Kernel(_name_of(function, variable.name_hint), function)
                for variable, function in functions
                if isinstance(function, self._prim_func)
            ]
        if isinstance(value, Mapping):
            value = tuple(value.values())
        if isinstance(value, (tuple, list)):
            return [kernel for item in value for kernel in self._unpack(item, name)]
        function = getattr(value, "func", None)  # what a tracing library wraps a function in
        return self._unpack(function, name) if isinstance(function, self._prim_func) else []

    def _place_of(self, function: Any) -> Place | None:
        """Return the `def` line of a builder of the user's."""
        function = inspect.unwrap(getattr(function, "func", function))
        code = getattr(function, "__code__", None)
        original = self._tree.original(code.co_filename) if code else None
        if code is None or original is None:
            return Place(self._request.entry, 1)
        return Place(original, definition_line(self._tree, original, code.co_firstlineno))

    def _missing(self, name: str, missing: list[str], place: Place | None) -> BuildError:
        example = " ".join(f"{parameter}=..." for parameter in missing)
        return self._failure(
            f"{name} needs a value for {', '.join(missing)}: "
            f"write `# tirx-lens: args {example}` above it",
            place,
        )

    def _failure(self, message: str, place: Place | None) -> BuildError:
        return BuildError(
            BuildDiagnostic(
                Severity.ERROR,
                Stage.BUILDER,
                message,
                file=place.file if place else None,
                line=place.line if place else None,
                column=1 if place else None,
            )
        )


def _name_of(function: Any, fallback: str) -> str:
    attributes = function.attrs
    symbol = attributes["global_symbol"] if attributes and "global_symbol" in attributes else None
    return str(symbol or getattr(function, "__name__", None) or fallback)


def _spelled(arguments: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in arguments.items())


def _article(noun: str) -> str:
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"
