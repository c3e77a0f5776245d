/*
 * Threads that do anything at all, in any order, with the same few handles: allocate, free, divide, join, call, wait, look,
 * on data that others are at, have freed or divided meanwhile. Each use may fail, with a code; none crashes, hangs, or
 * gives a wrong result to who does it right.
 *
 *   threads [steps of each thread]
 */
#include <hete.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, SHARED = 6, N = 64 };

/* Handles that all threads take from and put to, whatever has become of them. */
static hete_Data *_Atomic shared[SHARED];
static int steps = 2000;
static int seen[32];
static pthread_mutex_t seen_lock = PTHREAD_MUTEX_INITIALIZER;

static unsigned next(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(*state >> 33);
}

static void count(hete_Error error) {
    pthread_mutex_lock(&seen_lock);
    seen[error]++;
    pthread_mutex_unlock(&seen_lock);
}

static hete_Data *any(uint64_t *random) {
    hete_Data *data = shared[next(random) % SHARED];
    if (next(random) % 3 == 0) {
        hete_Data *part = hete_Index(data, next(random) % 5);
        return part;
    }
    return data;
}

/* Not shared: has to come out right whatever the others do. */
static int own_work(uint64_t *random) {
    hete_Data *x = hete_Calloc(N, 8), *y = hete_Malloc(N * 8);
    if (!x || !y) return 0;
    float *in = x->data;
    hete_Event event;
    int is_right = 1, later = next(random) % 2;
    hete_Error error = hete_Update(x);
    if (error == HETE_OK) {
        in[0] = 1.0F;
        error = later ? CEDR_FFT_flt_nb(x, y, N, true, &event) : CEDR_FFT_flt(x, y, N, true);
    }
    if (error == HETE_OK) error = later ? hete_Wait(event) : HETE_OK;
    if (error == HETE_OK) error = hete_Read(y);
    if (error == HETE_OK) {
        const float *out = y->data;
        for (int i = 0; i < N; i++) is_right &= out[2 * i] == 1.0F && out[2 * i + 1] == 0.0F;
    }
    is_right &= error == HETE_OK;
    if (!is_right) printf("WRONG own work: %s: %s\n", hete_ErrorName((int)error), hete_LastErrorMessage());
    count(hete_Free(x));
    count(hete_Free(y));
    return is_right;
}

static void *run(void *argument) {
    uint64_t random = (uint64_t)(uintptr_t)argument * 977 + 5;
    hete_Event event = {0, 0};
    intptr_t wrong = 0;
    for (int i = 0; i < steps; i++) {
        hete_Data *a = any(&random), *b = any(&random), *c = any(&random);
        switch (next(&random) % 20) {
        case 0: {
            hete_Data *made = hete_Malloc(N * 8);
            if (!made) count(hete_LastError());
            hete_Data *old = atomic_exchange(&shared[next(&random) % SHARED], made);
            if (next(&random) % 2) count(hete_Free(old));
            break;
        }
        case 1: count(hete_Free(a)); break;
        case 2: count(hete_Fragment(a, 1u << next(&random) % 4)); break;
        case 3: count(hete_Join(a)); break;
        case 4: count(hete_Sync(a)); break;
        case 5: count(hete_Read(a)); break;
        case 6: count(hete_Write(a)); break;
        case 7: count(hete_Update(a)); break;
        case 8: count(CEDR_FFT_flt(a, b, 16, true)); break;
        case 9: count(CEDR_FFT_flt_nb(a, b, 16, true, &event)); break;
        case 10: count(CEDR_ZIP_flt(a, b, c, 16, ZIP_ADD)); break;
        case 11: count(CEDR_ZIP_flt_nb(a, b, c, 16, ZIP_ADD, &event)); break;
        case 12: count(hete_Wait(event)); break;
        case 13: hete_LastResource(a), hete_ValidSet(b), hete_ResourcePointer(c, 1), hete_FragmentCount(a); break;
        case 14: count(hete_Scale(a, a, 0.5F, 0.0F, HETE_COMPLEX)); break;
        case 15: count(hete_Sync((hete_Data *)(uintptr_t)(next(&random) * 8u))); break;
        case 16: count(hete_Finish()); break;
        case 17: count(hete_Tile(a, 8, 8, 1u << next(&random) % 3, 1u << next(&random) % 3)); break;
        case 18: count(hete_On((const char *const[]){NULL, "cpu", "acc0"}[next(&random) % 3])); break;
        default: wrong += !own_work(&random);
        }
    }
    return (void *)wrong;
}

int main(int argc, char **argv) {
    if (argc > 1) steps = atoi(argv[1]);
    for (int i = 0; i < SHARED; i++) shared[i] = hete_Calloc(N, 8);
    pthread_t threads[THREADS];
    for (intptr_t i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, run, (void *)i);
    intptr_t wrong = 0;
    for (int i = 0; i < THREADS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        wrong += (intptr_t)result;
    }
    for (int i = 0; i < 32; i++) {
        if (seen[i]) printf("%-26s %d\n", hete_ErrorName(i), seen[i]);
    }
    /* Those that the storm is about did happen; what never may did not. */
    int is_mixed = seen[HETE_OK] && seen[HETE_ERROR_FREED] && seen[HETE_ERROR_HANDLE] && seen[HETE_ERROR_OVERLAP];
    if (!is_mixed && steps >= 1000) printf("WRONG not much of a storm\n"), wrong++;
    if (seen[HETE_ERROR_INTERNAL] || seen[HETE_ERROR_DEADLOCK]) printf("WRONG kind of error\n"), wrong++;
    if (rimms_Shutdown() != HETE_OK) wrong++;
    printf("%ld wrong\n", (long)wrong);
    return wrong ? 1 : 0;
}
