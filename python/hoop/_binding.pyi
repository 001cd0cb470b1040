"""python/hoop/_binding.pyi - what cffi compiled of include/hoop"""

from typing import Any

ffi: Any
lib: Any
