/*
 * The paper's Listing 4: M transforms of N points, with nothing said about where they run.
 *
 *   cc -std=c11 listing4.c -o listing4 $(pkg-config --cflags --libs rimms) -lm && ./listing4
 *   RIMMS_DEVICES=acc0 RIMMS_ON=acc0 ./listing4        # the same on a simulated accelerator
 */
#include <hete.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { M = 64, N = 256, BIN = 16 };

/* Says what went wrong, for every call that fails. */
static void complain(hete_Error error, const char *message, void *user) {
    (void)user;
    fprintf(stderr, "%s: %s\n", hete_ErrorName((int)error), message);
    exit(1);
}

int main(void) {
    hete_SetErrorHandler(complain, NULL);

    hete_Data *input = hete_Malloc(M * N * 2 * sizeof(float)); /* complex: real part, imaginary part */
    hete_Data *output = hete_Malloc(M * N * 2 * sizeof(float));

    float *x = input->data; /* the host's, until a call writes it */
    for (int i = 0; i < M * N; i++) {
        double angle = 2.0 * 3.14159265358979323846 * BIN * (i % N) / N;
        x[2 * i] = (float)cos(angle);
        x[2 * i + 1] = (float)sin(angle);
    }

    hete_Fragment(input, M); /* O(M): no device is asked for memory */
    hete_Fragment(output, M);

    for (int i = 0; i < M; i++)
        CEDR_FFT_flt(hete_Index(input, i), hete_Index(output, i), N, true); /* runs where it is best */

    hete_Sync(output); /* brings back what an accelerator has */

    const float *y = output->data;
    for (int i = 0; i < M * N; i++) {
        float wanted = i % N == BIN ? (float)N : 0.0F;
        if (fabsf(y[2 * i] - wanted) > 0.01F || fabsf(y[2 * i + 1]) > 0.01F) {
            fprintf(stderr, "element %d is %g + %gi, not %g\n", i, (double)y[2 * i], (double)y[2 * i + 1], (double)wanted);
            return 1;
        }
    }

    rimms_Stats stats;
    rimms_GetStats(&stats, sizeof stats);
    printf("%d transforms of %d points; the tone is in bin %d\n", M, N, BIN);
    printf("calls %llu, copies to devices %llu, back %llu\n", (unsigned long long)stats.calls,
           (unsigned long long)stats.host_to_device.copies, (unsigned long long)stats.device_to_host.copies);

    hete_Free(input);
    hete_Free(output);
    return 0;
}
