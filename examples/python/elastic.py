"""examples/python/elastic.py - a training that loses a rank, and goes on without it

hooprun -n 4 --on-exit continue python examples/python/elastic.py

A rank kills itself halfway. The calls of the others end with hoop.RankLost, and
they shrink the communicator to those that are left. Whoever has made a step more
than others, since the sum had reached it, brings them its weights; then they cut
the batches among fewer, and learn as much as if nothing had happened.
"""

import os
import signal

import numpy as np
from digits import BATCH, Network, accuracy, load, share

import hoop

STEPS, VICTIM = 400, 2


def go_on(comm, network, step):
    """Without the dead: a communicator, and the step at which all of it are."""
    while True:
        try:
            comm = comm.shrink()
            steps = np.empty(comm.size, np.int64)
            comm.allgather(np.array([step]), steps)
            ahead = int(steps.argmax())
            for array in (network.parameters, network.velocity):
                comm.broadcast(array, root=ahead)
            return comm, int(steps[ahead])
        except hoop.RankLost:
            continue  # another one, meanwhile


def train(comm):
    """Makes STEPS steps, however many ranks are left."""
    (images, labels), held_out = load()
    network, step, victim = Network(images.shape[1]), 0, comm.rank == VICTIM
    comm.broadcast(network.parameters)
    while step < STEPS:
        if victim and step == STEPS // 2:
            os.kill(os.getpid(), signal.SIGKILL)
        batch = np.random.default_rng(step).choice(len(labels), BATCH, replace=False)
        mine = share(comm, batch)
        network.backward(images[mine], labels[mine])
        try:
            comm.allreduce(network.gradient)
        except hoop.RankLost as error:
            comm, step = go_on(comm, network, step)
            if comm.rank == 0:
                print(f"step {step}: {error}", f"{comm.size} ranks go on", sep="\n", flush=True)
        else:
            network.step(len(batch))
            step += 1
    found = accuracy(comm, network, *held_out)
    if comm.rank == 0:
        print(f"step {step}: accuracy {found:.1%} on {comm.size} ranks", flush=True)


if __name__ == "__main__":
    with hoop.join() as session:
        train(session.world)
