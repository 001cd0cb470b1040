"""python/torch/hoop_torch/_autoload.py - what torch calls when it is imported"""

from __future__ import annotations


def autoload() -> None:
    """Importing the package was enough; or it is what imports torch, and goes on itself."""
