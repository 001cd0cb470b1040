"""examples/python/hello.py - join, sum one array over all ranks, leave

hooprun -n 4 python examples/python/hello.py
"""

from array import array

import hoop

with hoop.join() as session:
    comm = session.world
    x = array("d", [comm.rank, 1])
    comm.allreduce(x)
    print(f"rank {comm.rank} of {comm.size}: the ranks sum to {x[0]:g}")
