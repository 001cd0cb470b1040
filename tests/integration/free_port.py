#!/usr/bin/env python3
"""tests/integration/free_port.py - prints a port nobody listens on"""

import socket

with socket.socket() as listener:
    listener.bind(('127.0.0.1', 0))
    print(listener.getsockname()[1])
