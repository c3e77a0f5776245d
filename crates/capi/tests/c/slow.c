/*
 * A call that takes its time, and one that waits for it: what the setting `watchdog` is there to tell.
 */
#include <hete.h>

#include <stdio.h>
#include <time.h>

static int sleeps(const hete_Operand *o, size_t n, const void *params, size_t size, void *user) {
    (void)o, (void)n, (void)params, (void)size, (void)user;
    const struct timespec half_a_second = {0, 500000000};
    return nanosleep(&half_a_second, NULL);
}

int main(void) {
    int roles[] = {HETE_INOUT};
    hete_Op op;
    hete_Data *x = hete_Calloc(64, 8);
    if (!x || hete_OpCreate("sleeps", roles, 1, HETE_ON_CPU, sleeps, NULL, &op) != HETE_OK) return 1;
    hete_Error error = hete_Call_nb(op, &x, 1, NULL, 0, NULL);
    if (error == HETE_OK) error = CEDR_FFT_flt_nb(x, x, 64, true, NULL);
    if (error == HETE_OK) error = hete_Finish();
    if (error == HETE_OK) error = rimms_Shutdown();
    printf("%s\n", hete_ErrorName((int)error));
    return error != HETE_OK;
}
