/*
 * bench/wire/gradient.c - writes the gradients of an MLP that is being trained
 *
 * Usage: gradient STEPS RANKS PREFIX. It trains 512-1024-1024-10 units with
 * ReLUs on the classes that a random network assigns to random inputs, with
 * AdamW and 128 inputs per step. After STEPS steps it writes the gradients of
 * RANKS different batches, as ranks would compute them, to PREFIX.0, PREFIX.1,
 * ... Each file has 1583114 float32s. The program takes some tens of seconds.
 */

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BATCH = 128,
    N_INPUTS = 512,
    N_HIDDEN = 1024,
    N_TAUGHT = 256,
    N_CLASSES = 10,
    LAYERS = 3,
};

struct layer {
    size_t n_in;
    size_t n_out;
    float *weights; /* [n_out][n_in], followed by n_out biases */
    float *gradient;
    float *mean;
    float *square;
    float *out; /* [BATCH][n_out] */
    float *back;
};

static uint64_t seed = 1;

static float
uniform(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (float)(seed >> 40) / (float)(1 << 24);
}

static float
normal(void)
{
    const float radius = sqrtf(-2 * logf(uniform() + 1e-9F));

    return radius * cosf(6.2831853F * uniform());
}

static float *
floats(size_t count)
{
    float *all = calloc(count, sizeof(*all));

    if (!all)
        abort();
    return all;
}

static size_t
n_weights(const struct layer *layer)
{
    return layer->n_out * (layer->n_in + 1);
}

static struct layer
layer_of(size_t n_in, size_t n_out)
{
    struct layer layer = {.n_in = n_in, .n_out = n_out};
    const float most = 1 / sqrtf((float)n_in);

    layer.weights = floats(n_weights(&layer));
    layer.gradient = floats(n_weights(&layer));
    layer.mean = floats(n_weights(&layer));
    layer.square = floats(n_weights(&layer));
    layer.out = floats(BATCH * n_out);
    layer.back = floats(BATCH * n_out);
    for (size_t i = 0; i < n_weights(&layer); i++)
        layer.weights[i] = (2 * uniform() - 1) * most;
    return layer;
}

static float
dot(const float *left, const float *right, size_t count)
{
    float sums[16] = {0};
    float sum = 0;

    for (size_t i = 0; i < count; i += 16)
        for (size_t j = 0; j < 16; j++)
            sums[j] += left[i + j] * right[i + j];
    for (size_t j = 0; j < 16; j++)
        sum += sums[j];
    return sum;
}

static void
add_scaled(float *to, const float *from, float factor, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] += factor * from[i];
}

static void
forward(struct layer *layer, const float *in, float least)
{
    const float *biases = layer->weights + layer->n_out * layer->n_in;

    for (size_t o = 0; o < layer->n_out; o++) {
        const float *row = layer->weights + o * layer->n_in;

        for (size_t b = 0; b < BATCH; b++) {
            const float sum =
                biases[o] + dot(in + b * layer->n_in, row, layer->n_in);

            layer->out[b * layer->n_out + o] = sum > least ? sum : least;
        }
    }
}

/* layer->back is the gradient of the loss with respect to the layer's sums.
 * in_back receives the gradient with respect to its input. */
static void
backward(struct layer *layer, const float *in, float *in_back)
{
    float *biases = layer->gradient + layer->n_out * layer->n_in;

    memset(layer->gradient, 0, n_weights(layer) * sizeof(float));
    if (in_back)
        memset(in_back, 0, BATCH * layer->n_in * sizeof(float));
    for (size_t o = 0; o < layer->n_out; o++) {
        const float *row = layer->weights + o * layer->n_in;

        for (size_t b = 0; b < BATCH; b++) {
            const float back = layer->back[b * layer->n_out + o];

            if (back == 0)
                continue;
            add_scaled(layer->gradient + o * layer->n_in, in + b * layer->n_in,
                       back, layer->n_in);
            biases[o] += back;
            if (in_back)
                add_scaled(in_back + b * layer->n_in, row, back, layer->n_in);
        }
    }
    for (size_t i = 0; in_back && i < BATCH * layer->n_in; i++)
        in_back[i] = in[i] > 0 ? in_back[i] : 0;
}

static void
adamw(struct layer *layer, int step)
{
    const float rate = 1e-3F;
    const float first = 1 - powf(0.9F, (float)step);
    const float second = 1 - powf(0.999F, (float)step);

    for (size_t i = 0; i < n_weights(layer); i++) {
        const float g = layer->gradient[i];
        float *weight = &layer->weights[i];

        layer->mean[i] = 0.9F * layer->mean[i] + 0.1F * g;
        layer->square[i] = 0.999F * layer->square[i] + 0.001F * g * g;
        *weight -= rate * 0.01F * *weight;
        *weight -= rate * (layer->mean[i] / first) /
                   (sqrtf(layer->square[i] / second) + 1e-8F);
    }
}

/* Computes the gradient of the cross entropy with respect to the sums of the
 * last layer. */
static void
codec_autotune(struct layer *last, const struct layer *teacher)
{
    for (size_t b = 0; b < BATCH; b++) {
        const float *out = last->out + b * N_CLASSES;
        const float *right = teacher->out + b * N_CLASSES;
        float *back = last->back + b * N_CLASSES;
        size_t class = 0;
        float most = out[0];
        float sum = 0;

        for (size_t c = 1; c < N_CLASSES; c++) {
            class = right[c] > right[class] ? c : class;
            most = out[c] > most ? out[c] : most;
        }
        for (size_t c = 0; c < N_CLASSES; c++)
            sum += expf(out[c] - most);
        for (size_t c = 0; c < N_CLASSES; c++)
            back[c] = (expf(out[c] - most) / sum - (c == class)) / BATCH;
    }
}

static void
gradients(struct layer *layers, struct layer *teachers)
{
    static float in[BATCH * N_INPUTS];

    for (size_t i = 0; i < BATCH * N_INPUTS; i++)
        in[i] = normal();
    forward(&teachers[0], in, 0);
    forward(&teachers[1], teachers[0].out, -INFINITY);
    for (size_t l = 0; l < LAYERS; l++)
        forward(&layers[l], l ? layers[l - 1].out : in,
                l + 1 < LAYERS ? 0 : -INFINITY);
    codec_autotune(&layers[LAYERS - 1], &teachers[1]);
    for (size_t l = LAYERS; l-- > 0;)
        backward(&layers[l], l ? layers[l - 1].out : in,
                 l ? layers[l - 1].back : NULL);
}

static int
gradients_write(const struct layer *layers, const char *prefix, int rank)
{
    char path[1024];

    snprintf(path, sizeof(path), "%s.%d", prefix, rank);
    FILE *file = fopen(path, "wb");
    for (size_t l = 0; file && l < LAYERS; l++)
        fwrite(layers[l].gradient, sizeof(float), n_weights(&layers[l]), file);
    if (!file || fclose(file) != 0) {
        perror(path);
        return 1;
    }
    return 0;
}

int
main(int argc, char **argv)
{
    struct layer teachers[2];
    struct layer layers[LAYERS];

    if (argc != 4) {
        fprintf(stderr, "usage: gradient STEPS RANKS PREFIX\n");
        return 2;
    }
    teachers[0] = layer_of(N_INPUTS, N_TAUGHT);
    teachers[1] = layer_of(N_TAUGHT, N_CLASSES);
    layers[0] = layer_of(N_INPUTS, N_HIDDEN);
    layers[1] = layer_of(N_HIDDEN, N_HIDDEN);
    layers[2] = layer_of(N_HIDDEN, N_CLASSES);
    for (int step = 1; step <= atoi(argv[1]); step++) {
        gradients(layers, teachers);
        for (size_t l = 0; l < LAYERS; l++)
            adamw(&layers[l], step);
    }
    for (int rank = 0; rank < atoi(argv[2]); rank++) {
        gradients(layers, teachers);
        if (gradients_write(layers, argv[3], rank) != 0)
            return 1;
    }
    return 0;
}
