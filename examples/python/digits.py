"""examples/python/digits.py - a classifier of handwritten digits, trained by all ranks

hooprun -n 4 python examples/python/digits.py [EPOCHS]

Each rank computes the gradient of its share of a batch, allreduce() sums them, and
all make the same step. So the curve does not depend on how many ranks there are,
but for the rounding of floats. train_digits.c is the same in C.
"""

import pathlib
import sys

import numpy as np

import hoop

DATA = pathlib.Path(__file__).parents[1] / "data" / "digits.csv"
HIDDEN, CLASSES = 64, 10
BATCH, RATE, MOMENTUM = 64, 0.1, 0.9
HELD_OUT = 5  # one image in so many


class Network:
    """A perceptron with one hidden layer, whose parameters lie in one array."""

    def __init__(self, n_pixels):
        """Draw the weights by chance; the others will get rank 0's."""
        shapes = [(n_pixels, HIDDEN), (HIDDEN,), (HIDDEN, CLASSES), (CLASSES,)]
        ends = np.cumsum([np.prod(shape) for shape in shapes])
        self.parameters = np.zeros(ends[-1])
        self.gradient = np.zeros(ends[-1])
        self.velocity = np.zeros(ends[-1])

        def cut(whole):
            return [part.reshape(shape) for part, shape in zip(np.split(whole, ends[:-1]), shapes)]

        # Parts of the whole, not copies.
        self.layers, self.slopes = cut(self.parameters), cut(self.gradient)
        random = np.random.default_rng(7)
        for weights in self.layers[::2]:
            bound = np.sqrt(6 / len(weights))
            weights[:] = random.uniform(-bound, bound, weights.shape)

    def forward(self, images):
        """What the hidden cells say, and the scores of each digit."""
        first, first_bias, second, second_bias = self.layers
        hidden = np.maximum(images @ first + first_bias, 0)
        return hidden, hidden @ second + second_bias

    def backward(self, images, labels):
        """Leave the gradient of the sum of losses in self.gradient; return that sum."""
        hidden, scores = self.forward(images)
        scores -= scores.max(axis=1, keepdims=True)
        chances = np.exp(scores)
        chances /= chances.sum(axis=1, keepdims=True)
        rows = np.arange(len(labels))
        loss = -np.log(chances[rows, labels]).sum()
        chances[rows, labels] -= 1
        below = (chances @ self.layers[2].T) * (hidden > 0)
        parts = [images.T @ below, below.sum(axis=0), hidden.T @ chances, chances.sum(axis=0)]
        for slope, part in zip(self.slopes, parts):
            slope[:] = part
        return loss

    def step(self, n_images):
        """Go down the gradient of n_images."""
        self.velocity *= MOMENTUM
        self.velocity -= RATE / n_images * self.gradient
        self.parameters += self.velocity


def load():
    """Images and labels to learn from, and others to be asked for."""
    table = np.loadtxt(DATA, delimiter=",")
    np.random.default_rng(20).shuffle(table)  # it is sorted by writer
    images, labels = table[:, :-1] / 16, table[:, -1].astype(int)
    n = len(labels) - len(labels) // HELD_OUT
    return (images[:n], labels[:n]), (images[n:], labels[n:])


def share(comm, array):
    """This rank's part, as even as whole numbers can be."""
    return array[len(array) * comm.rank // comm.size : len(array) * (comm.rank + 1) // comm.size]


def accuracy(comm, network, images, labels):
    """Which part of them all ranks together tell right."""
    _, scores = network.forward(share(comm, images))
    right = np.array([np.sum(scores.argmax(axis=1) == share(comm, labels))], np.int64)
    comm.allreduce(right)
    return right[0] / len(labels)


def train(comm, n_epochs):
    """Once over all images for each epoch; rank 0 says how it goes."""
    (images, labels), held_out = load()
    network = Network(images.shape[1])
    comm.broadcast(network.parameters)
    for epoch in range(n_epochs):
        order = np.random.default_rng(1000 + epoch).permutation(len(labels))
        loss = np.zeros(1)
        for begin in range(0, len(order), BATCH):
            batch = order[begin : begin + BATCH]
            mine = share(comm, batch)
            loss += network.backward(images[mine], labels[mine])
            comm.allreduce(network.gradient)
            network.step(len(batch))
        comm.allreduce(loss)
        found = accuracy(comm, network, *held_out)
        if comm.rank == 0:
            print(f"epoch {epoch + 1}: loss {loss[0] / len(order):.4f}, accuracy {found:.1%}", flush=True)


if __name__ == "__main__":
    with hoop.join() as session:
        train(session.world, int(sys.argv[1]) if len(sys.argv) > 1 else 20)
