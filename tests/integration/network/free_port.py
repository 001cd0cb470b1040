#!/usr/bin/env python3
"""tests/integration/network/free_port.py - prints a port nobody listens on, nor soon"""

import os
import sys


sys.path.insert(0, os.path.join(os.path.dirname(__file__), '../../fault'))
from programs import free_addresses

(_, port), = free_addresses(1)
print(port)
