"""Stands in for torch, which registered kernels import for their data and references.

Building them asks it for next to nothing: the number of SMs and the sizes of types. Everything else
is a value that takes whatever is done with it.
"""

import importlib.abc
import importlib.machinery
import sys
import types


class Anything:
    """Has every attribute, can be called, subscripted and inherited from."""

    itemsize = 2
    multi_processor_count = 148
    major, minor = 10, 0

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything()

    def __call__(self, *given, **named):
        decorated = len(given) == 1 and isinstance(given[0], (types.FunctionType, type))
        return given[0] if decorated and not named else Anything()

    def __mro_entries__(self, bases):
        return (object,)

    def __getitem__(self, key):
        return self

    def element_size(self):
        return 4

    def _combined(self, other):
        return self

    __or__ = __ror__ = __mul__ = __rmul__ = __add__ = __sub__ = __truediv__ = _combined

    def __iter__(self):
        return iter((10, 0))  # a compute capability

    def __int__(self):
        return 0

    def __index__(self):
        return 2

    def __hash__(self):
        return 0


class Module(types.ModuleType):
    """A module that has every name."""

    __path__ = ()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything()


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds every module below torch and triton."""

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("torch", "triton") and name != "torch":
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return Module(spec.name)

    def exec_module(self, module):
        """Do nothing: there is nothing to run."""


sys.meta_path.append(Finder())
sys.modules[__name__].__class__ = Module
__path__ = ()
