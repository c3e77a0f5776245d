/*
 * What the interface does when it is used rightly: who has the newest bytes, how many copies that takes, what calls
 * compute, waiting, ops of the program's own, trace and costs.
 *
 *   behaviour FOLDER        a folder to write files to
 *
 * Run on one simulated accelerator, acc0, which is resource 1 (tests/programs.rs).
 */
#include <hete.h>

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int wrong;

static void check(int is_right, const char *what, int line) {
    if (is_right) return;
    wrong++;
    printf("WRONG line %d: %s (%s: %s)\n", line, what, hete_ErrorName((int)hete_LastError()), hete_LastErrorMessage());
}
#define CHECK(condition) check((condition), #condition, __LINE__)
#define OK(call) check((call) == HETE_OK, #call, __LINE__)

static rimms_Stats stats(void) {
    rimms_Stats now;
    OK(rimms_GetStats(&now, sizeof now));
    return now;
}

static hete_Data *floats(size_t n) {
    hete_Data *data = hete_Malloc(n * sizeof(float));
    CHECK(data != NULL);
    for (size_t i = 0; i < n; i++) ((float *)data->data)[i] = 0.0F;
    return data;
}

static int is_near(float a, float b) { return fabsf(a - b) < 1e-3F * (1.0F + fabsf(b)); }

/* The paper's meaning: after hete_Malloc and hete_Sync the program may write whenever it likes. */
static void the_hosts_writes_are_never_missed(void) {
    hete_Data *x = floats(128), *y = floats(128);
    float *in = x->data, *out = y->data;
    CHECK(hete_LastResource(x) == 0 && hete_ValidSet(x) == 1);
    for (int round = 1; round <= 3; round++) {
        in[0] = (float)round; /* nothing said, as in the paper's programs */
        OK(CEDR_FFT_flt(x, y, 64, true));
        CHECK(hete_LastResource(y) == 1 && hete_ValidSet(y) == 2 && hete_LastResource(x) == 0);
        CHECK(hete_ResourcePointer(y, 1) != 0 && hete_ResourcePointer(y, 0) == (uint64_t)(size_t)y->data);
        OK(hete_Sync(y));
        CHECK(out[0] == (float)round && out[126] == (float)round);
        CHECK(hete_LastResource(y) == 0 && hete_ValidSet(y) == 1);
    }
    /* A fragment of it, too; its neighbours stay where they are. */
    OK(hete_Fragment(y, 2));
    hete_Data *first = hete_Index(y, 0), *second = hete_Index(y, 1);
    OK(hete_Scale(second, second, 2.0F, 0.0F, HETE_COMPLEX));
    OK(hete_Sync(first));
    ((float *)first->data)[0] = 10.0F;
    OK(hete_Scale(first, first, 2.0F, 0.0F, HETE_COMPLEX));
    CHECK(hete_ValidSet(y) == 2 && hete_LastResource(y) == 1);
    OK(hete_Sync(first));
    ((float *)first->data)[0] += 1.0F;
    OK(hete_Join(y));
    OK(CEDR_FFT_flt(y, x, 64, false));
    OK(hete_Sync(y));
    CHECK(out[0] == 21.0F && out[2] == 6.0F && out[64] == 6.0F);
    OK(hete_Free(x));
    OK(hete_Free(y));
}

/* One datum as two operands of a call, while the program may have written it since the accelerator got its copy. */
static void read_twice_by_one_call(void) {
    hete_Data *x = floats(128), *y = floats(128);
    OK(hete_Fragment(x, 2));
    for (int round = 1; round <= 3; round++) {
        for (int i = 0; i < 128; i += 2) ((float *)x->data)[i] = (float)round;
        OK(CEDR_ZIP_flt(x, x, y, 64, ZIP_MULT));
        OK(CEDR_ZIP_flt(x, hete_Index(x, 1), y, 64, ZIP_MULT));
        OK(hete_Read(y));
        for (int i = 0; i < 128; i++) CHECK(((float *)y->data)[i] == (i % 2 ? 0.0F : (float)(round * round)));
    }
    OK(hete_Free(x));
    OK(hete_Free(y));
}

/* What is said more closely saves copies. */
static void intents_save_copies(void) {
    enum { CALLS = 5 };
    for (int says = 0; says < 2; says++) {
        hete_Data *x = floats(128), *y = floats(128);
        if (says) OK(hete_Write(x));
        for (int i = 0; i < 128; i++) ((float *)x->data)[i] = 1.0F;
        rimms_Stats before = stats();
        for (int i = 0; i < CALLS; i++) OK(CEDR_FFT_flt(x, y, 64, true));
        rimms_Stats after = stats();
        /* After hete_Malloc alone the program could have written before any of them. */
        CHECK(after.host_to_device.copies - before.host_to_device.copies == (says ? 1 : CALLS));
        CHECK(hete_ValidSet(x) == 3);
        OK(hete_Read(y));
        OK(hete_Read(y));
        CHECK(hete_ValidSet(y) == 3 && hete_LastResource(y) == 1);
        OK(hete_Scale(y, y, 2.0F, 0.0F, HETE_COMPLEX)); /* still there: not copied back */
        rimms_Stats end = stats();
        CHECK(end.device_to_host.copies - after.device_to_host.copies == 1);
        CHECK(end.host_to_device.copies == after.host_to_device.copies);
        OK(hete_Update(y));
        CHECK(hete_ValidSet(y) == 1 && ((float *)y->data)[0] == 128.0F);
        OK(hete_Free(x));
        OK(hete_Free(y));
    }
    /* What is overwritten is not copied in, nor back. */
    hete_Data *z = floats(128);
    OK(hete_Scale(z, z, 2.0F, 0.0F, HETE_COMPLEX));
    rimms_Stats before = stats();
    OK(hete_Write(z));
    CHECK(stats().all.copies == before.all.copies && hete_ValidSet(z) == 1);
    OK(hete_Free(z));
}

static void calls_compute(void) {
    enum { ROWS = 3, COLS = 4 };
    hete_Data *a = floats(2 * ROWS * COLS), *b = floats(2 * COLS * ROWS), *c = floats(2 * ROWS * ROWS);
    hete_Data *row = floats(2 * COLS), *same = floats(2 * ROWS * COLS), *real = floats(ROWS * COLS);
    hete_Data *peak = hete_Malloc(sizeof(hete_Peak)), *other = floats(2 * ROWS * COLS);
    float *A = a->data, *B = b->data, *C = c->data, *S = same->data;
    for (int i = 0; i < ROWS * COLS; i++) {
        A[2 * i] = (float)i, A[2 * i + 1] = (float)-i;
        B[2 * i] = (float)(i % 3), B[2 * i + 1] = 1.0F;
    }
    for (int i = 0; i < COLS; i++) ((float *)row->data)[2 * i + 1] = (float)(i + 1);

    OK(CEDR_GEMM_flt(a, b, c, ROWS, COLS, ROWS));
    OK(hete_Sync(c));
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < ROWS; j++) {
            float re = 0.0F, im = 0.0F;
            for (int k = 0; k < COLS; k++) {
                const float *p = A + 2 * (i * COLS + k), *q = B + 2 * (k * ROWS + j);
                re += p[0] * q[0] - p[1] * q[1], im += p[0] * q[1] + p[1] * q[0];
            }
            CHECK(is_near(C[2 * (i * ROWS + j)], re) && is_near(C[2 * (i * ROWS + j) + 1], im));
        }
    /* (p + iq) with i(k + 1), the same row for all; each operation. */
    for (int op = ZIP_ADD; op <= ZIP_CONJ_MULT; op++) {
        OK(CEDR_ZIP_flt(a, row, same, ROWS * COLS, op));
        OK(hete_Sync(same));
        for (int i = 0; i < ROWS * COLS; i++) {
            float p = A[2 * i], q = A[2 * i + 1], r = (float)(i % COLS + 1), re, im;
            switch (op) {
            case ZIP_ADD: re = p, im = q + r; break;
            case ZIP_SUB: re = p, im = q - r; break;
            case ZIP_DIV: re = q / r, im = -p / r; break;
            case ZIP_CONJ_MULT: re = q * r, im = -p * r; break;
            default: re = -q * r, im = p * r;
            }
            CHECK(is_near(S[2 * i], re) && is_near(S[2 * i + 1], im));
        }
    }
    OK(CEDR_MADD_flt(a, a, same, ROWS, COLS));
    OK(CEDR_MSUB_flt(same, a, other, ROWS, COLS));
    OK(hete_Sync(other));
    CHECK(memcmp(other->data, a->data, a->size) == 0);
    OK(CEDR_TRANSPOSE_flt(a, same, ROWS, COLS, true));
    OK(hete_Sync(same));
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLS; j++) CHECK(S[2 * (j * ROWS + i) + 1] == -A[2 * (i * COLS + j) + 1]);
    OK(hete_FftShift(a, same, COLS, HETE_COMPLEX));
    OK(hete_Sync(same));
    CHECK(S[0] == A[4] && S[4] == A[0]);
    OK(hete_Magnitude(a, real, ROWS * COLS));
    OK(hete_ArgMax(real, peak, ROWS * COLS));
    OK(hete_Read(peak));
    const hete_Peak *found = peak->data;
    CHECK(found->index == ROWS * COLS - 1 && fabs(found->value - 11.0 * sqrt(2.0)) < 1e-4);
    OK(hete_Copy(a, same));
    OK(hete_Read(same));
    CHECK(memcmp(same->data, a->data, a->size) == 0);
    float value[2] = {2.5F, -1.0F};
    OK(hete_Fill(same, value, 8));
    OK(hete_Read(same));
    CHECK(S[0] == 2.5F && S[23] == -1.0F);

    /* Real ones: a slope by convolution, and decisions. */
    hete_Data *line = floats(6), *mask = floats(3), *slope = floats(6);
    for (int i = 0; i < 6; i++) ((float *)line->data)[i] = (float)(i * i);
    ((float *)mask->data)[0] = -1.0F, ((float *)mask->data)[2] = 1.0F;
    OK(CEDR_CONV_1D_flt(line, 6, mask, 3, slope));
    OK(hete_Read(slope));
    const float *s = slope->data;
    CHECK(s[0] == 1.0F && s[1] == 4.0F && s[4] == 16.0F && s[5] == -16.0F);
    hete_Data *box = floats(4);
    for (int i = 0; i < 4; i++) ((float *)box->data)[i] = 1.0F;
    OK(CEDR_CONV_2D_flt(line, 2, 3, box, 2, slope));
    OK(hete_Read(slope));
    CHECK(s[0] == 0.0F && s[5] == 1.0F + 4.0F + 16.0F + 25.0F);
    /* The same calls as CEDR's, of real elements. */
    for (int i = 0; i < 4; i++) ((float *)box->data)[i] = (float)(i + 1);
    hete_Data *square = floats(4), *wide = floats(6);
    OK(hete_Zip(box, box, square, 4, ZIP_MULT, HETE_REAL));
    OK(hete_Read(square));
    for (int i = 0; i < 4; i++) CHECK(((float *)square->data)[i] == (float)((i + 1) * (i + 1)));
    OK(hete_Gemm(box, line, wide, 2, 2, 3, HETE_REAL)); /* (1 2; 3 4) · (0 1 4; 9 16 25) */
    OK(hete_Transpose(wide, slope, 2, 3, HETE_REAL));
    OK(hete_Read(slope));
    const float turned[6] = {18.0F, 36.0F, 33.0F, 67.0F, 54.0F, 112.0F};
    CHECK(memcmp(slope->data, turned, sizeof turned) == 0);
    OK(hete_Zip(a, a, same, ROWS * COLS, ZIP_SUB, HETE_COMPLEX));
    OK(hete_Read(same));
    for (int i = 0; i < 2 * ROWS * COLS; i++) CHECK(S[i] == 0.0F);
    hete_Data *symbols = floats(4), *bits = floats(2), *numbers = hete_Malloc(2 * sizeof(int32_t));
    const float sent[4] = {-0.9F, 1.1F, 0.2F, -0.3F};
    memcpy(symbols->data, sent, sizeof sent);
    OK(CEDR_BPSK_flt(symbols, bits, 2));
    OK(CEDR_QAM16_flt(symbols, numbers, 2));
    OK(hete_Finish());
    OK(hete_Read(bits));
    OK(hete_Read(numbers));
    CHECK(((float *)bits->data)[0] == -1.0F && ((float *)bits->data)[1] == 1.0F);
    CHECK(((int32_t *)numbers->data)[0] == 3 && ((int32_t *)numbers->data)[1] == 9);
    hete_Data *all[] = {a, b, c, row, same, real, peak, other, line, mask, slope, box, square, wide, symbols, bits, numbers};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) OK(hete_Free(all[i]));
}

/* A matrix of 4 × 6 in tiles of 2 × 3: the host sees rows, calls see elements one after the other. */
static void tiles(void) {
    hete_Data *m = floats(24), *twice = floats(6), *peak = hete_Malloc(sizeof(hete_Peak));
    for (int i = 0; i < 24; i++) ((float *)m->data)[i] = (float)i;
    OK(hete_Tile(m, sizeof(float), 6, 2, 3));
    CHECK(hete_FragmentCount(m) == 4);
    hete_Data *tile = hete_Index(m, 3), *beside = hete_Index(m, 2);
    const float *at = tile->data;
    CHECK(tile->size == 6 * sizeof(float) && hete_Pitch(tile) == 6 * sizeof(float) && hete_Pitch(m) == m->size);
    CHECK(at == (float *)m->data + 15 && at[0] == 15.0F && at[6] == 21.0F);
    OK(hete_Scale(tile, twice, 2.0F, 0.0F, HETE_REAL));
    OK(hete_Read(twice));
    const float wanted[6] = {30.0F, 32.0F, 34.0F, 42.0F, 44.0F, 46.0F};
    CHECK(memcmp(twice->data, wanted, sizeof wanted) == 0);
    /* Tiles side by side have no byte in common; each keeps its own newest bytes. */
    OK(hete_Zip(tile, tile, beside, 6, ZIP_ADD, HETE_REAL));
    CHECK(hete_ValidSet(beside) == 2 && hete_ValidSet(hete_Index(m, 0)) == 1);
    OK(hete_ArgMax(beside, peak, 6));
    OK(hete_Read(peak));
    CHECK(((hete_Peak *)peak->data)->index == 5 && ((hete_Peak *)peak->data)->value == 46.0);
    OK(hete_Update(tile));
    ((float *)tile->data)[6] = 1.0F; /* its second row */
    OK(hete_Scale(tile, tile, 3.0F, 0.0F, HETE_REAL));
    OK(hete_Sync(m));
    const float *all = m->data;
    CHECK(all[14] == 34.0F && all[15] == 45.0F && all[20] == 46.0F && all[21] == 3.0F && all[8] == 8.0F);
    /* Rows of a tile, and tiles of different sizes. */
    OK(hete_Fragment(tile, 2));
    CHECK(hete_Index(tile, 1)->data == (void *)((float *)m->data + 21));
    const size_t heights[2] = {1, 3}, widths[3] = {1, 2, 3};
    OK(hete_TileSizes(m, sizeof(float), heights, 2, widths, 3));
    tile = hete_Index(m, 4);
    CHECK(tile->size == 6 * sizeof(float) && tile->data == (void *)((float *)m->data + 7));
    OK(hete_Join(m));
    OK(hete_Free(m));
    OK(hete_Free(twice));
    OK(hete_Free(peak));
}

/* The PEs that a thread's calls go to, until it says otherwise. */
static void *on_its_own(void *argument) {
    OK(CEDR_FFT_flt(argument, argument, 64, true));
    return NULL;
}

static void choosing_pes(void) {
    hete_Data *x = floats(128);
    uint64_t cpu = rimms_PeCalls(0), acc = rimms_PeCalls(1);
    rimms_Flow before, after;
    OK(rimms_GetFlow(1, 0, &before));
    OK(CEDR_FFT_flt(x, x, 64, true));
    OK(hete_On("cpu"));
    OK(CEDR_FFT_flt(x, x, 64, true));
    CHECK(rimms_PeCalls(0) == cpu + 1 && rimms_PeCalls(1) == acc + 1);
    hete_Event event;
    OK(CEDR_FFT_flt_nb(x, x, 64, true, &event));
    OK(hete_Wait(event));
    CHECK(rimms_PeCalls(0) == cpu + 2 && hete_LastResource(x) == 0);
    pthread_t other; /* which has chosen nothing */
    pthread_create(&other, NULL, on_its_own, x);
    pthread_join(other, NULL);
    CHECK(rimms_PeCalls(1) == acc + 2);
    OK(hete_On("cpu0,acc0"));
    OK(hete_On(NULL));
    OK(CEDR_FFT_flt(x, x, 64, true));
    CHECK(rimms_PeCalls(0) == cpu + 2 && rimms_PeCalls(1) == acc + 3);
    OK(rimms_GetFlow(1, 0, &after));
    CHECK(after.copies == before.copies + 1 && after.bytes == before.bytes + 512);
    OK(rimms_GetFlowByCause("input", &after));
    CHECK(after.copies > 0);
    OK(hete_Free(x));
}

/* Calls that are not waited for, in the order in which they depend on each other. */
static void waiting(void) {
    enum { CHAINS = 8 };
    hete_Data *x = floats(CHAINS * 32);
    size_t sizes[2] = {CHAINS * 32, CHAINS * 32 * 3};
    for (int i = 0; i < CHAINS * 32; i += 2) ((float *)x->data)[i] = 1.0F;
    OK(hete_Fragment(x, CHAINS));
    hete_Event events[CHAINS];
    for (int i = 0; i < CHAINS; i++) {
        hete_Data *part = hete_Index(x, (size_t)i);
        OK(CEDR_FFT_flt_nb(part, part, 16, true, NULL));
        OK(hete_Scale_nb(part, part, (float)i, 0.0F, HETE_COMPLEX, NULL));
        OK(CEDR_FFT_flt_nb(part, part, 16, false, &events[i]));
    }
    size_t first = CHAINS;
    OK(hete_WaitAny(events, CHAINS, &first));
    CHECK(first < CHAINS && hete_IsDone(events[first]) == 1);
    OK(hete_WaitAll(events, CHAINS));
    OK(hete_Sync(x));
    for (int i = 0; i < CHAINS * 32; i += 2) CHECK(is_near(((float *)x->data)[i], (float)(i / 32)));
    /* Freed while calls are at it: they keep what they need. */
    for (int i = 0; i < 100; i++) {
        hete_Data *gone = floats(32);
        OK(CEDR_FFT_flt_nb(gone, gone, 16, true, &events[0]));
        OK(hete_Free(gone));
        OK(hete_Wait(events[0]));
    }
    hete_Data *pieces = hete_Malloc(CHAINS * 32 * 4);
    OK(hete_FragmentSizes(pieces, sizes, 2));
    CHECK(hete_FragmentCount(pieces) == 2 && hete_Index(pieces, 1)->size == sizes[1]);
    CHECK((char *)hete_Index(pieces, 1)->data == (char *)pieces->data + sizes[0]);
    CHECK(hete_Index(pieces, 1) == hete_Index(pieces, 1));
    OK(hete_Free(pieces));
    OK(hete_Free(x));
}

struct line {
    float slope;
    double offset;
};

static int on_line(const hete_Operand *o, size_t n, const void *params, size_t size, void *user) {
    const struct line *line = params;
    if (n != 2 || size != sizeof *line || o[0].role != HETE_IN || o[1].role != HETE_OUT) return 1;
    if (o[0].size != o[1].size) return hete_KernelFailed("x and y are not of one size"), 2;
    for (size_t i = 0; i < o[0].size / sizeof(float); i++)
        ((float *)o[1].data)[i] = line->slope * ((const float *)o[0].data)[i] + (float)line->offset;
    ++*(int *)user;
    return 0;
}

static void ops_of_its_own(void) {
    int runs = 0, roles[2] = {HETE_IN, HETE_OUT};
    hete_Op op;
    OK(hete_OpCreate("line", roles, 2, HETE_ON_CPU | HETE_ON_SIM, on_line, &runs, &op));
    hete_Data *x = floats(32), *y = floats(32), *args[2] = {x, y};
    for (int i = 0; i < 32; i++) ((float *)x->data)[i] = (float)i;
    struct line line = {2.0F, 0.5};
    OK(hete_Call(op, args, 2, &line, sizeof line));
    line.offset = 1.5;
    hete_Event event;
    hete_Data *back[2] = {y, x};
    OK(hete_Call_nb(op, back, 2, &line, sizeof line, &event));
    line.slope = 1000.0F; /* the call has its own copy */
    OK(hete_OpDestroy(op)); /* and keeps the op */
    OK(hete_Wait(event));
    OK(hete_Sync(x));
    for (int i = 0; i < 32; i++) CHECK(((float *)x->data)[i] == 2.0F * (2.0F * (float)i + 0.5F) + 1.5F);
    CHECK(runs == 2);
    OK(hete_Free(x));
    OK(hete_Free(y));
}

static int add_one(const hete_Operand *o, size_t n, const void *params, size_t size, void *user) {
    (void)n, (void)params, (void)size, (void)user;
    for (size_t i = 0; i < o[0].size / sizeof(float); i++) ((float *)o[0].data)[i] += 1.0F;
    return 0;
}

struct adding {
    hete_Op op;
    hete_Data *data;
    int later;
};

static void *adds(void *argument) {
    struct adding *adding = argument;
    for (int i = 0; i < 100; i++) {
        if ((i + adding->later) % 2) OK(hete_Call_nb(adding->op, &adding->data, 1, NULL, 0, NULL));
        else OK(hete_Call(adding->op, &adding->data, 1, NULL, 0));
    }
    return NULL;
}

/* Calls of several threads on one datum, waited for or not: none gets lost. */
static void threads_share_data(void) {
    int role = HETE_INOUT;
    hete_Op op;
    OK(hete_OpCreate("add one", &role, 1, HETE_ON_CPU | HETE_ON_SIM, add_one, NULL, &op));
    hete_Data *x = floats(32);
    pthread_t threads[4];
    struct adding adding[4];
    for (int i = 0; i < 4; i++) {
        adding[i] = (struct adding){op, x, i};
        pthread_create(&threads[i], NULL, adds, &adding[i]);
    }
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    OK(hete_Read(x));
    for (int i = 0; i < 32; i++) CHECK(((float *)x->data)[i] == 400.0F);
    OK(hete_OpDestroy(op));
    OK(hete_Free(x));
}

static void what_there_is(const char *folder) {
    CHECK(rimms_Version() == (RIMMS_VERSION_MAJOR << 16 | RIMMS_VERSION_MINOR << 8 | RIMMS_VERSION_PATCH));
    CHECK(rimms_PeCount() == 2 && rimms_ResourceCount() == 2);
    CHECK(strcmp(rimms_PeName(1), "acc0") == 0 && rimms_PeResource(1) == 1 && rimms_PeResource(0) == 0);
    CHECK(strcmp(rimms_ResourceName(0), "host") == 0 && rimms_ResourceCapacity(1) == 1 << 20);
    CHECK(rimms_PeCan(1, "fft") == 1 && rimms_PeCalls(1) > 0 && rimms_PeCalls(0) == 2);
    rimms_Stats part;
    memset(&part, 0xff, sizeof part);
    OK(rimms_GetStats(&part, sizeof part.all)); /* an older program's idea of it */
    CHECK(part.all.copies > 0 && part.calls == UINT64_MAX);
    char name[4096], line[64] = "";
    snprintf(name, sizeof name, "%s/trace.json", folder);
    OK(rimms_WriteTrace(name));
    FILE *file = fopen(name, "r");
    CHECK(file && fgets(line, sizeof line, file) && strncmp(line, "{\"displayTimeUnit\"", 18) == 0);
    if (file) fclose(file);
    OK(rimms_WriteTrace(NULL));
    snprintf(name, sizeof name, "%s/costs.json", folder);
    OK(rimms_SaveCosts(name));
    /* Another runtime, which goes by these costs alone, and whose file of settings says what else. */
    OK(rimms_Shutdown());
    OK(rimms_Set("costs", name));
    OK(rimms_Set("fixed-costs", "true"));
    snprintf(name, sizeof name, "%s/settings.toml", folder);
    file = fopen(name, "w");
    CHECK(file != NULL);
    if (file) fputs("policy = 'eft'\ncpus = 1\n", file), fclose(file);
    OK(rimms_LoadSettings(name));
    OK(rimms_Start());
    CHECK(rimms_PeCount() == 2); /* RIMMS_DEVICES goes before nothing that the file says */
}

int main(int argc, char **argv) {
    the_hosts_writes_are_never_missed();
    read_twice_by_one_call();
    intents_save_copies();
    calls_compute();
    tiles();
    choosing_pes();
    waiting();
    ops_of_its_own();
    threads_share_data();
    what_there_is(argc > 1 ? argv[1] : ".");
    OK(rimms_Shutdown());
    printf("%d wrong\n", wrong);
    return wrong ? 1 : 0;
}
