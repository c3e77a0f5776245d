/*
 * Wrong uses of the interface: each has the code it is to give, and words of the message. After all of them the library
 * still works.
 *
 * Run with one CPU and one simulated accelerator of 64 KiB (tests/programs.rs).
 */
#include <hete.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int cases, wrong, told;

static void expect(const char *what, hete_Error found, hete_Error wanted, const char *words) {
    const char *message = hete_LastErrorMessage();
    cases++;
    if (found == wanted && hete_LastError() == wanted && strstr(message, words)) return;
    wrong++;
    printf("WRONG %s\n  wanted %s with \"%s\"\n  found  %s: %s\n", what, hete_ErrorName((int)wanted), words,
           hete_ErrorName((int)found), message);
}

/* A call that returns its code. */
#define WRONG_USE(call, code, words) expect(#call, (call), code, words)
/* One that returns a value: `failed` where it failed. */
#define WRONG_VALUE(call, failed, code, words) \
    expect(#call, (call) == (failed) ? hete_LastError() : HETE_OK, code, words)

static void require(hete_Error error, const char *what) {
    if (error == HETE_OK) return;
    printf("WRONG %s failed: %s: %s\n", what, hete_ErrorName((int)error), hete_LastErrorMessage());
    wrong++;
}
#define RIGHT_USE(call) require((call), #call)

static void on_error(hete_Error error, const char *message, void *user) {
    (void)error;
    if (message[0]) ++*(int *)user;
    hete_Free((hete_Data *)user); /* fails too, and must not come back here */
}

static int fails(const hete_Operand *o, size_t n, const void *params, size_t size, void *user) {
    (void)o, (void)n, (void)params, (void)size, (void)user;
    return 7;
}

static int says_why(const hete_Operand *o, size_t n, const void *params, size_t size, void *user) {
    (void)o, (void)n, (void)params, (void)size, (void)user;
    hete_KernelFailed("the input is not sorted");
    return 1;
}

/* Uses, from inside its kernel, what its own call is at. */
static hete_Error inside[6];
static int reaches_out(const hete_Operand *o, size_t n, const void *params, size_t size, void *user) {
    (void)o, (void)n, (void)params, (void)size;
    hete_Data *own = user;
    inside[0] = hete_Sync(own);
    inside[1] = hete_Fragment(own, 2);
    inside[2] = hete_Free(own);
    inside[3] = rimms_Shutdown();
    inside[4] = CEDR_FFT_flt(own, own, 8, true);
    hete_Data *other = hete_Malloc(64);
    inside[5] = other ? hete_Free(other) : HETE_ERROR_INTERNAL; /* what is no matter of the call goes on working */
    return 0;
}

int main(void) {
    const size_t bytes = 64 * 8; /* 64 complex elements */

    /* Settings, before anything has started. */
    WRONG_USE(rimms_Set(NULL, "1"), HETE_ERROR_NULL, "name");
    WRONG_USE(rimms_Set("cpus", NULL), HETE_ERROR_NULL, "value");
    WRONG_USE(rimms_Set("cores", "1"), HETE_ERROR_UNKNOWN, "cpus");
    WRONG_USE(rimms_Set("cpus", "many"), HETE_ERROR_CONFIG, "whole number");
    WRONG_USE(rimms_Set("devices", "gpu0"), HETE_ERROR_CONFIG, "acc, fft or zip");
    WRONG_USE(rimms_Set("memory", "\xff"), HETE_ERROR_ARGUMENT, "UTF-8");
    WRONG_USE(rimms_LoadSettings(NULL), HETE_ERROR_NULL, "file");
    WRONG_USE(rimms_LoadSettings("/no/such/file.toml"), HETE_ERROR_FILE, "/no/such/file.toml");
    /* What cannot start says so at each call, until it can. */
    RIGHT_USE(rimms_Set("on", "nowhere"));
    WRONG_VALUE(hete_Malloc(8), NULL, HETE_ERROR_UNKNOWN, "nowhere");
    WRONG_USE(rimms_Start(), HETE_ERROR_UNKNOWN, "cpu0");
    RIGHT_USE(rimms_Shutdown());
    RIGHT_USE(rimms_Start());
    WRONG_USE(rimms_Set("cpus", "1"), HETE_ERROR_STARTED, "rimms_Shutdown");
    WRONG_USE(rimms_LoadSettings("/no/such/file.toml"), HETE_ERROR_STARTED, "rimms_Shutdown");
    WRONG_USE(rimms_WriteTrace("trace.json"), HETE_ERROR_CONFIG, "`trace`");
    WRONG_USE(rimms_SaveCosts("/no/such/folder/costs.json"), HETE_ERROR_FILE, "/no/such/folder");

    /* Sizes. */
    WRONG_VALUE(hete_Malloc(0), NULL, HETE_ERROR_SHAPE, "at least one");
    WRONG_VALUE(hete_Malloc(SIZE_MAX), NULL, HETE_ERROR_MEMORY, "no room");
    WRONG_VALUE(hete_Malloc(SIZE_MAX / 2), NULL, HETE_ERROR_MEMORY, "no room");
    WRONG_VALUE(hete_Calloc(SIZE_MAX / 2, 16), NULL, HETE_ERROR_MEMORY, "no room");

    hete_Data *x = hete_Malloc(bytes), *y = hete_Malloc(bytes), *small = hete_Malloc(24), *odd = hete_Malloc(13);
    memset(x->data, 0, bytes);
    memset(small->data, 0, 24);
    memset(odd->data, 0, 13);

    /* Handles that are none. */
    int here = 0;
    char text[32] = "no data at all";
    RIGHT_USE(hete_Free(NULL));
    WRONG_USE(hete_Sync(NULL), HETE_ERROR_NULL, "NULL");
    WRONG_USE(hete_Read(NULL), HETE_ERROR_NULL, "NULL");
    WRONG_USE(hete_Write(NULL), HETE_ERROR_NULL, "NULL");
    WRONG_USE(hete_Update(NULL), HETE_ERROR_NULL, "NULL");
    WRONG_USE(hete_Fragment(NULL, 2), HETE_ERROR_NULL, "NULL");
    WRONG_VALUE(hete_Index(NULL, 0), NULL, HETE_ERROR_NULL, "NULL");
    WRONG_USE(CEDR_FFT_flt(x, NULL, 64, true), HETE_ERROR_NULL, "NULL");
    WRONG_USE(hete_Free((hete_Data *)&here), HETE_ERROR_HANDLE, "hete_Malloc");
    WRONG_USE(hete_Sync((hete_Data *)(void *)text), HETE_ERROR_HANDLE, "hete_Malloc");
    WRONG_USE(hete_Sync((hete_Data *)(uintptr_t)1), HETE_ERROR_HANDLE, "hete_Malloc");
    WRONG_USE(hete_Sync((hete_Data *)(uintptr_t)0xdeadbeefdeadbeef), HETE_ERROR_HANDLE, "hete_Malloc");
    WRONG_USE(hete_Sync((hete_Data *)x->data), HETE_ERROR_HANDLE, "hete_Malloc");
    WRONG_USE(hete_Sync((hete_Data *)((char *)x + 8)), HETE_ERROR_HANDLE, "hete_Malloc");
    WRONG_USE(CEDR_FFT_flt((hete_Data *)(void *)text, y, 64, true), HETE_ERROR_HANDLE, "hete_Malloc");
    WRONG_VALUE(hete_ValidSet((hete_Data *)(void *)text), 0, HETE_ERROR_HANDLE, "hete_Malloc");
    WRONG_VALUE(hete_LastResource((hete_Data *)(void *)text), -1, HETE_ERROR_HANDLE, "hete_Malloc");
    WRONG_VALUE(hete_ResourcePointer(NULL, 0), 0, HETE_ERROR_NULL, "NULL");
    WRONG_VALUE(hete_FragmentCount((hete_Data *)(void *)text), 0, HETE_ERROR_HANDLE, "hete_Malloc");

    /* Freed. */
    hete_Data *freed = hete_Malloc(bytes);
    RIGHT_USE(hete_Free(freed));
    WRONG_USE(hete_Free(freed), HETE_ERROR_FREED, "freed");
    WRONG_USE(hete_Sync(freed), HETE_ERROR_FREED, "freed");
    WRONG_USE(hete_Fragment(freed, 2), HETE_ERROR_FREED, "freed");
    WRONG_USE(CEDR_FFT_flt(x, freed, 64, true), HETE_ERROR_FREED, "freed");
    WRONG_USE(CEDR_ZIP_flt(x, freed, y, 64, ZIP_ADD), HETE_ERROR_FREED, "freed");
    WRONG_VALUE(hete_Index(freed, 0), NULL, HETE_ERROR_FREED, "freed");
    if (freed->data || freed->size) printf("WRONG what was freed still shows its bytes\n"), wrong++;

    /* Fragments. */
    WRONG_VALUE(hete_Index(x, 0), NULL, HETE_ERROR_INDEX, "not divided");
    WRONG_USE(hete_Fragment(x, 0), HETE_ERROR_SHAPE, "0 fragments");
    WRONG_USE(hete_Fragment(x, 7), HETE_ERROR_SHAPE, "7 fragments");
    WRONG_USE(hete_Fragment(x, SIZE_MAX), HETE_ERROR_SHAPE, "512 bytes");
    size_t sizes[2] = {500, 13};
    WRONG_USE(hete_FragmentSizes(x, sizes, 2), HETE_ERROR_SHAPE, "513");
    WRONG_USE(hete_FragmentSizes(x, NULL, 2), HETE_ERROR_NULL, "sizes");
    WRONG_USE(hete_FragmentSizes(x, sizes, 0), HETE_ERROR_SHAPE, "add up to 0");
    WRONG_USE(hete_FragmentSizes(x, sizes, SIZE_MAX / 8), HETE_ERROR_SHAPE, "sizes");
    WRONG_USE(hete_FragmentSizes(x, (size_t *)(void *)(text + 1), 2), HETE_ERROR_NULL, "aligned");
    RIGHT_USE(hete_Fragment(x, 4));
    hete_Data *part = hete_Index(x, 1);
    WRONG_VALUE(hete_Index(x, 4), NULL, HETE_ERROR_INDEX, "fragment 4 was asked for, but there are 4");
    WRONG_VALUE(hete_Index(x, SIZE_MAX), NULL, HETE_ERROR_INDEX, "there are 4");
    WRONG_VALUE(hete_Index(part, 0), NULL, HETE_ERROR_INDEX, "not divided");
    WRONG_USE(hete_Free(part), HETE_ERROR_ARGUMENT, "fragment");
    RIGHT_USE(hete_Fragment(x, 2));
    WRONG_USE(hete_Sync(part), HETE_ERROR_FREED, "divided anew");
    part = hete_Index(x, 0);
    RIGHT_USE(hete_Fragment(part, 2));
    hete_Data *deep = hete_Index(part, 1);
    RIGHT_USE(hete_Join(x));
    WRONG_USE(hete_Sync(part), HETE_ERROR_FREED, "joined");
    WRONG_USE(CEDR_FFT_flt(deep, deep, 16, true), HETE_ERROR_FREED, "joined");

    /* Tiles. */
    const size_t heights[2] = {4, 4}, widths[2] = {8, 8};
    WRONG_USE(hete_Tile(NULL, 4, 16, 4, 4), HETE_ERROR_NULL, "NULL");
    WRONG_USE(hete_Tile(x, 4, 16, 3, 4), HETE_ERROR_SHAPE, "do not divide into tiles");
    WRONG_USE(hete_Tile(x, 0, 16, 4, 4), HETE_ERROR_SHAPE, "do not divide into tiles");
    WRONG_USE(hete_Tile(x, SIZE_MAX, 16, 4, 4), HETE_ERROR_SHAPE, "more than an address");
    WRONG_USE(hete_Tile(x, 1, 16, SIZE_MAX, SIZE_MAX), HETE_ERROR_SHAPE, "more than an address");
    WRONG_USE(hete_TileSizes(x, 4, heights, 2, NULL, 2), HETE_ERROR_NULL, "widths");
    WRONG_USE(hete_TileSizes(x, 8, heights, 2, widths, 2), HETE_ERROR_SHAPE, "do not make up 512");
    WRONG_USE(hete_TileSizes(x, 8, heights, 2, widths, 0), HETE_ERROR_SHAPE, "do not make up 512");
    WRONG_VALUE(hete_Pitch(freed), 0, HETE_ERROR_FREED, "freed");
    RIGHT_USE(hete_Tile(x, 8, 8, 4, 4)); /* 8 × 8 complex elements, four tiles */
    WRONG_USE(CEDR_FFT_flt(hete_Index(x, 0), x, 16, true), HETE_ERROR_OVERLAP, "operands 0 and 1 overlap");
    RIGHT_USE(CEDR_FFT_flt(hete_Index(x, 0), hete_Index(x, 1), 16, true)); /* between each other's rows */
    WRONG_USE(hete_Fragment(hete_Index(x, 0), 3), HETE_ERROR_SHAPE, "4 rows");
    RIGHT_USE(hete_Join(x));

    /* Operands that overlap. */
    RIGHT_USE(hete_Fragment(x, 2));
    hete_Data *first = hete_Index(x, 0), *second = hete_Index(x, 1);
    WRONG_USE(CEDR_FFT_flt(x, first, 32, true), HETE_ERROR_OVERLAP, "operands 0 and 1 overlap");
    WRONG_USE(CEDR_FFT_flt(first, x, 32, true), HETE_ERROR_OVERLAP, "operands 0 and 1 overlap");
    WRONG_USE(CEDR_ZIP_flt(y, x, x, 64, ZIP_ADD), HETE_ERROR_OVERLAP, "operands 1 and 2 overlap");
    WRONG_USE(CEDR_ZIP_flt(x, y, x, 64, ZIP_ADD), HETE_ERROR_OVERLAP, "operands 0 and 2 overlap");
    WRONG_USE(hete_Copy(x, x), HETE_ERROR_OVERLAP, "operands 0 and 1 overlap");
    WRONG_USE(CEDR_TRANSPOSE_flt(x, x, 8, 8, false), HETE_ERROR_OVERLAP, "no byte in common");
    RIGHT_USE(CEDR_FFT_flt(first, second, 32, true)); /* different fragments of one datum: no mistake */
    RIGHT_USE(CEDR_FFT_flt(first, first, 32, true));  /* in place: none either */
    RIGHT_USE(CEDR_ZIP_flt(first, first, second, 32, ZIP_MULT));
    RIGHT_USE(hete_Join(x));

    /* Sizes that do not fit. */
    RIGHT_USE(hete_Sync(x));
    WRONG_USE(CEDR_FFT_flt(x, y, 0, true), HETE_ERROR_SHAPE, "nothing to do");
    WRONG_USE(CEDR_FFT_flt(x, y, 60, true), HETE_ERROR_SHAPE, "no whole number");
    WRONG_USE(CEDR_FFT_flt(x, y, SIZE_MAX, true), HETE_ERROR_SHAPE, "fft");
    WRONG_USE(CEDR_FFT_flt(x, small, 64, true), HETE_ERROR_SHAPE, "found 64 x Complex<f32>, 3 x Complex<f32>");
    WRONG_USE(CEDR_FFT_flt(odd, y, 1, true), HETE_ERROR_SHAPE, "operand 0");
    WRONG_USE(CEDR_ZIP_flt(x, y, small, 64, ZIP_ADD), HETE_ERROR_SHAPE, "zip");
    WRONG_USE(CEDR_ZIP_flt(x, small, y, 64, ZIP_ADD), HETE_ERROR_SHAPE, "divisor");
    WRONG_USE(CEDR_GEMM_flt(x, small, y, 8, 8, 8), HETE_ERROR_SHAPE, "8 x 8 times 8 x 8");
    WRONG_USE(CEDR_GEMM_flt(x, small, y, SIZE_MAX, SIZE_MAX, 8), HETE_ERROR_SHAPE, "gemm");
    WRONG_USE(CEDR_TRANSPOSE_flt(x, y, 7, 9, false), HETE_ERROR_SHAPE, "7 rows of 9");
    WRONG_USE(CEDR_CONV_1D_flt(x, 64, small, 6, y), HETE_ERROR_SHAPE, "convolve");
    WRONG_USE(CEDR_CONV_2D_flt(x, SIZE_MAX, 2, small, 2, y), HETE_ERROR_SHAPE, "convolve");
    WRONG_USE(CEDR_MADD_flt(x, x, y, SIZE_MAX, 2), HETE_ERROR_SHAPE, "zip");
    WRONG_USE(hete_Magnitude(x, y, 64), HETE_ERROR_SHAPE, "magnitude");
    WRONG_USE(hete_ArgMax(x, y, 128), HETE_ERROR_SHAPE, "Peak");
    WRONG_USE(hete_Copy(x, small), HETE_ERROR_SHAPE, "copy");

    /* Values that are none. */
    WRONG_USE(CEDR_ZIP_flt(x, x, y, 64, 6), HETE_ERROR_ARGUMENT, "operation is 6");
    WRONG_USE(CEDR_ZIP_flt(x, x, y, 64, -1), HETE_ERROR_ARGUMENT, "operation is -1");
    WRONG_USE(hete_FftShift(x, y, 64, 2), HETE_ERROR_ARGUMENT, "HETE_REAL");
    WRONG_USE(hete_Scale(x, y, 1.0F, 1.0F, HETE_REAL), HETE_ERROR_ARGUMENT, "imaginary");
    WRONG_USE(hete_Zip(x, x, y, 64, 9, HETE_REAL), HETE_ERROR_ARGUMENT, "operation is 9");
    WRONG_USE(hete_Zip(x, x, y, 64, ZIP_ADD, -1), HETE_ERROR_ARGUMENT, "type of elements is -1");
    WRONG_USE(hete_Zip(x, x, y, 64, ZIP_ADD, HETE_REAL), HETE_ERROR_SHAPE, "second operand has 128 elements");
    WRONG_USE(hete_Gemm(x, x, y, 8, 8, 8, 2), HETE_ERROR_ARGUMENT, "HETE_COMPLEX");
    WRONG_USE(hete_Gemm(odd, x, y, 8, 8, 8, HETE_REAL), HETE_ERROR_SHAPE, "operand 0");
    WRONG_USE(hete_Transpose(x, y, 8, 8, 7), HETE_ERROR_ARGUMENT, "type of elements is 7");
    WRONG_USE(hete_Fill(x, &here, 3), HETE_ERROR_ARGUMENT, "1, 4 or 8");
    WRONG_USE(hete_Fill(x, NULL, 4), HETE_ERROR_NULL, "pattern");

    /* Events. */
    hete_Event none = {0, 0}, garbage = {123456789, 987654321}, event;
    size_t which = 0;
    WRONG_USE(hete_Wait(none), HETE_ERROR_EVENT, "never set");
    WRONG_USE(hete_Wait(garbage), HETE_ERROR_EVENT, "no call that was accepted");
    RIGHT_USE(CEDR_FFT_flt_nb(x, y, 64, true, &event));
    RIGHT_USE(hete_Wait(event));
    RIGHT_USE(hete_Wait(event)); /* again: no mistake */
    garbage = event;
    garbage.call += (uint64_t)1 << 40;
    WRONG_USE(hete_Wait(garbage), HETE_ERROR_EVENT, "event 0");
    hete_Event two[2] = {event, none};
    WRONG_USE(hete_WaitAll(two, 2), HETE_ERROR_EVENT, "event 1 was never set");
    WRONG_USE(hete_WaitAll(NULL, 2), HETE_ERROR_NULL, "events");
    WRONG_USE(hete_WaitAny(two, 0, &which), HETE_ERROR_INDEX, "no events");
    WRONG_USE(hete_WaitAny(two, 1, NULL), HETE_ERROR_NULL, "first");
    WRONG_VALUE(hete_IsDone(none), -1, HETE_ERROR_EVENT, "never set");
    WRONG_USE(CEDR_FFT_flt_nb(x, y, 64, true, (hete_Event *)(void *)(text + 1)), HETE_ERROR_NULL, "aligned");

    /* Ops. */
    hete_Op op = {0}, failing, reaching;
    int roles[2] = {HETE_INOUT, HETE_IN}, bad = 9;
    hete_Data *args[2] = {y, x};
    WRONG_USE(hete_OpCreate(NULL, roles, 1, HETE_ON_CPU, fails, NULL, &op), HETE_ERROR_NULL, "name");
    WRONG_USE(hete_OpCreate("f", NULL, 1, HETE_ON_CPU, fails, NULL, &op), HETE_ERROR_NULL, "roles");
    WRONG_USE(hete_OpCreate("f", roles, 1, HETE_ON_CPU, NULL, NULL, &op), HETE_ERROR_NULL, "kernel");
    WRONG_USE(hete_OpCreate("f", roles, 1, HETE_ON_CPU, fails, NULL, NULL), HETE_ERROR_NULL, "op");
    WRONG_USE(hete_OpCreate("f", roles, 0, HETE_ON_CPU, fails, NULL, &op), HETE_ERROR_CONFIG, "no operand");
    WRONG_USE(hete_OpCreate("f", &bad, 1, HETE_ON_CPU, fails, NULL, &op), HETE_ERROR_ARGUMENT, "role 0 is 9");
    WRONG_USE(hete_OpCreate("f", roles, 1, 4, fails, NULL, &op), HETE_ERROR_ARGUMENT, "run on 4");
    WRONG_USE(hete_OpCreate("f", roles, 1, 0, fails, NULL, &op), HETE_ERROR_ARGUMENT, "run on 0");
    WRONG_USE(hete_Call(op, args, 1, NULL, 0), HETE_ERROR_NULL, "no op 0");
    op.id = 77;
    WRONG_USE(hete_Call(op, args, 1, NULL, 0), HETE_ERROR_HANDLE, "no op 77");
    WRONG_USE(hete_OpDestroy(op), HETE_ERROR_HANDLE, "no op 77");
    RIGHT_USE(hete_OpCreate("gives up", roles, 1, HETE_ON_CPU, fails, NULL, &failing));
    WRONG_USE(hete_Call(failing, args, 2, NULL, 0), HETE_ERROR_SHAPE, "1 operands are wanted, 2 were given");
    WRONG_USE(hete_Call(failing, NULL, 1, NULL, 0), HETE_ERROR_NULL, "operands");
    WRONG_USE(hete_Call(failing, args, 1, NULL, 8), HETE_ERROR_NULL, "params");
    WRONG_USE(hete_Call(failing, args, 1, NULL, 0), HETE_ERROR_KERNEL, "returned 7");
    /* What a failed call was to write is missing, with the reason, until it is written anew. */
    RIGHT_USE(hete_Write(y));
    RIGHT_USE(hete_Call_nb(failing, args, 1, NULL, 0, &event));
    WRONG_USE(hete_Wait(event), HETE_ERROR_KERNEL, "returned 7");
    WRONG_USE(hete_Sync(y), HETE_ERROR_UNINITIALISED, "returned 7");
    WRONG_USE(CEDR_FFT_flt(y, x, 64, true), HETE_ERROR_UNINITIALISED, "gives up");
    RIGHT_USE(hete_Write(y));
    memset(y->data, 0, bytes);
    RIGHT_USE(hete_Sync(x));
    RIGHT_USE(hete_OpDestroy(failing));
    WRONG_USE(hete_OpDestroy(failing), HETE_ERROR_HANDLE, "destroyed");
    WRONG_USE(hete_Call(failing, args, 1, NULL, 0), HETE_ERROR_HANDLE, "destroyed");
    RIGHT_USE(hete_OpCreate("why", roles, 1, HETE_ON_CPU | HETE_ON_SIM, says_why, NULL, &failing));
    WRONG_USE(hete_Call(failing, args, 1, NULL, 0), HETE_ERROR_KERNEL, "the input is not sorted");
    RIGHT_USE(hete_OpDestroy(failing));
    WRONG_USE(hete_KernelFailed(NULL), HETE_ERROR_NULL, "why");

    /* Inside a kernel: what would wait for its own call. */
    RIGHT_USE(hete_Write(y));
    RIGHT_USE(hete_OpCreate("reaches out", roles, 1, HETE_ON_CPU, reaches_out, y, &reaching));
    RIGHT_USE(hete_Call(reaching, args, 1, NULL, 0));
    for (int i = 0; i < 5; i++) {
        cases++;
        if (inside[i] != HETE_ERROR_DEADLOCK) printf("WRONG inside a kernel, use %d: %s\n", i, hete_ErrorName((int)inside[i])), wrong++;
    }
    RIGHT_USE(inside[5]);
    RIGHT_USE(hete_OpDestroy(reaching));

    /* No room on a device, and no PE. */
    hete_Data *large = hete_Malloc(1 << 20);
    memset(large->data, 0, 1 << 20);
    int only_sim[1] = {HETE_INOUT};
    RIGHT_USE(hete_OpCreate("on acc", only_sim, 1, HETE_ON_SIM, fails, NULL, &op));
    WRONG_USE(hete_Call(op, &large, 1, NULL, 0), HETE_ERROR_DEVICE_MEMORY, "acc0 can never hold");
    RIGHT_USE(hete_OpDestroy(op));
    RIGHT_USE(hete_Free(large));

    /* PEs that are none, and one that cannot. */
    WRONG_USE(hete_On("gpu7"), HETE_ERROR_UNKNOWN, "gpu7");
    WRONG_USE(hete_On("\xff"), HETE_ERROR_ARGUMENT, "UTF-8");
    RIGHT_USE(hete_On("acc0"));
    RIGHT_USE(hete_OpCreate("on cpu", only_sim, 1, HETE_ON_CPU, fails, NULL, &op));
    WRONG_USE(hete_Call(op, &x, 1, NULL, 0), HETE_ERROR_NO_PE, "not among those allowed");
    RIGHT_USE(hete_OpDestroy(op));
    RIGHT_USE(hete_On(NULL));

    /* Questions about what there is. */
    rimms_Stats stats;
    rimms_Flow flow;
    WRONG_USE(rimms_GetFlow(0, 2, &flow), HETE_ERROR_INDEX, "there are 2");
    WRONG_USE(rimms_GetFlow(0, 1, NULL), HETE_ERROR_NULL, "flow");
    WRONG_USE(rimms_GetFlowByCause("luck", &flow), HETE_ERROR_UNKNOWN, "eviction");
    WRONG_USE(rimms_GetFlowByCause(NULL, &flow), HETE_ERROR_NULL, "cause");
    WRONG_USE(rimms_GetStats(NULL, sizeof stats), HETE_ERROR_NULL, "stats");
    WRONG_VALUE(rimms_PeName(99), NULL, HETE_ERROR_INDEX, "99");
    WRONG_VALUE(rimms_PeResource(99), -1, HETE_ERROR_INDEX, "there are 2");
    WRONG_VALUE(rimms_PeCalls(99), 0, HETE_ERROR_INDEX, "99");
    WRONG_VALUE(rimms_PeCan(0, "warp"), -1, HETE_ERROR_UNKNOWN, "arg-max");
    WRONG_VALUE(rimms_PeCan(0, NULL), -1, HETE_ERROR_NULL, "op");
    WRONG_VALUE(rimms_ResourceName(2), NULL, HETE_ERROR_INDEX, "there are 2");
    WRONG_VALUE(rimms_ResourceCapacity(2), 0, HETE_ERROR_INDEX, "there are 2");
    if (strcmp(hete_ErrorName(-1), "unknown") || strcmp(hete_ErrorName(1000), "unknown")) printf("WRONG names\n"), wrong++;

    /* The handler is told of each error once, and what it does wrong itself does not come back to it. */
    RIGHT_USE(hete_SetErrorHandler(on_error, &told));
    WRONG_USE(hete_Sync(freed), HETE_ERROR_FREED, "freed");
    if (told != 1) printf("WRONG the handler was told %d times\n", told), wrong++;
    RIGHT_USE(hete_SetErrorHandler(NULL, NULL));

    /* After the end of the runtime its data is freed, its events are none. */
    RIGHT_USE(CEDR_FFT_flt_nb(x, y, 64, true, &event));
    RIGHT_USE(rimms_Shutdown());
    WRONG_USE(hete_Sync(x), HETE_ERROR_FREED, "freed");
    WRONG_USE(hete_Free(y), HETE_ERROR_FREED, "freed");
    WRONG_USE(hete_Wait(event), HETE_ERROR_EVENT, "since the runtime started");

    /* And all of it still works. */
    x = hete_Malloc(bytes);
    y = hete_Malloc(bytes);
    for (int i = 0; i < 128; i++) ((float *)x->data)[i] = i % 2 ? 0.0F : 1.0F;
    RIGHT_USE(CEDR_FFT_flt(x, y, 64, true));
    RIGHT_USE(hete_Sync(y));
    if (((float *)y->data)[0] != 64.0F) printf("WRONG result\n"), wrong++;
    RIGHT_USE(hete_Free(x));
    RIGHT_USE(hete_Free(y));
    RIGHT_USE(rimms_Shutdown());

    printf("%d wrong uses, %d not as they should be\n", cases, wrong);
    return wrong ? 1 : 0;
}
