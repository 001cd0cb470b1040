#!/usr/bin/env python3
"""tests/integration/free_port.py - prints a port nobody listens on, nor soon"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..', 'fault'))

from programs import free_addresses  # pylint: disable=wrong-import-position

(_, port), = free_addresses(1)
print(port)
