/* The chain in StarPU: a child of the benchmark.
 *
 *   chain DEVICE SOURCE FLOATS VALUE CHAINS
 *
 * DEVICE begins with the OpenCL device's name, SOURCE is the kernel's, VALUE is every element of the input. For each
 * line of standard input there is one of standard output: how many nanoseconds a lap took, and the output's last
 * element. As the benchmark's other contenders come one after the other, each with data of its own, a lap that counts
 * comes after one of each of the other CHAINS here. What goes wrong is said on standard error. With the end of its
 * input the program ends, and the system takes back everything.
 *
 * As fast as StarPU 1.3.10 was found to be on PoCL's `basic`. From the slowest way to the fastest:
 *
 *   a worker thread, and acquiring waits for it asleep (the ordinary way, which takes three times as long as the last);
 *   a worker thread, and the callback of acquiring ends a spin;
 *   no thread but this one, which runs the worker itself until the callback comes;
 *   and copies are not asynchronous.
 *
 * Of the policies eager, lws, ws, prio and random were alike, dmda was slower. A worker that is bound to a core was no
 * faster, and slower where others use that core. Whether the worker waits for a kernel, or watches its event, is tried
 * on the device at hand. */
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <errno.h>
#include <limits.h>
#include <starpu.h>
#include <starpu_opencl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct starpu_driver worker = {.type = STARPU_OPENCL_WORKER};
static cl_kernel kernel;
static cl_command_queue queue;

static void fail(const char *what, int code)
{
    fprintf(stderr, "%s: %d\n", what, code);
    exit(1);
}

static void must(const char *what, int code)
{
    if (code)
        fail(what, code);
}

/* StarPU numbers devices as they come, platform by platform: finds the one wanted, and gives its number. */
static unsigned find_device(const char *wanted)
{
    const cl_device_type kinds = CL_DEVICE_TYPE_CPU | CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_ACCELERATOR;
    cl_platform_id platforms[16];
    cl_uint platform_count = 0;
    unsigned number = 0;
    must("clGetPlatformIDs", clGetPlatformIDs(16, platforms, &platform_count));
    for (cl_uint p = 0; p < platform_count && p < 16; p++) {
        cl_device_id devices[64];
        cl_uint count = 0;
        if (clGetDeviceIDs(platforms[p], kinds, 64, devices, &count) != CL_SUCCESS)
            continue;
        for (cl_uint d = 0; d < count && d < 64; d++, number++) {
            char found[1024] = "", *name = found;
            clGetDeviceInfo(devices[d], CL_DEVICE_NAME, sizeof found - 1, found, NULL);
            while (*name == ' ')
                name++;
            size_t length = strlen(name);
            while (length > 0 && name[length - 1] == ' ')
                length--;
            if (length > 0 && strncmp(wanted, name, length) == 0) {
                worker.id.opencl_id = devices[d];
                return number;
            }
        }
    }
    fprintf(stderr, "StarPU has no worker for %s\n", wanted);
    exit(1);
}

/* StarPU with one worker, on that device, which this thread runs. */
static void start(unsigned number, const char *source)
{
    static struct starpu_opencl_program program;
    struct starpu_conf conf;
    cl_device_id device = NULL;
    int id = -1;
    must("starpu_conf_init", starpu_conf_init(&conf));
    conf.ncpus = conf.ncuda = 0;
    conf.nopencl = 1;
    conf.use_explicit_workers_opencl_gpuid = 1;
    conf.workers_opencl_gpuid[0] = number;
    conf.not_launched_drivers = &worker;
    conf.n_not_launched_drivers = 1;
    conf.sched_policy_name = "eager";
    conf.disable_asynchronous_opencl_copy = 1;
    must("starpu_init", starpu_init(&conf));
    if (starpu_worker_get_ids_by_type(STARPU_OPENCL_WORKER, &id, 1) != 1)
        fail("StarPU has no OpenCL worker", -ENODEV);
    starpu_opencl_get_device(starpu_worker_get_devid(id), &device);
    if (device != worker.id.opencl_id)
        fail("StarPU's OpenCL worker has another device", starpu_worker_get_devid(id));
    must("starpu_driver_init", starpu_driver_init(&worker));
    must("starpu_opencl_load_opencl_from_string",
         starpu_opencl_load_opencl_from_string(source, &program, "-cl-std=CL1.2"));
    must("starpu_opencl_load_kernel",
         starpu_opencl_load_kernel(&kernel, &queue, &program, "step_on", starpu_worker_get_devid(id)));
}

static void step_on(void *buffers[], void *nothing);

static struct starpu_codelet codelet = {
    .where = STARPU_OPENCL,
    .opencl_funcs = {step_on},
    .nbuffers = 2,
    .modes = {STARPU_R, STARPU_W},
};

static void step_on(void *buffers[], void *nothing)
{
    (void)nothing;
    size_t items = STARPU_VECTOR_GET_NX(buffers[0]);
    for (cl_uint i = 0; i < 2; i++) {
        cl_mem buffer = (cl_mem)STARPU_VECTOR_GET_DEV_HANDLE(buffers[i]);
        must("clSetKernelArg", clSetKernelArg(kernel, i, sizeof buffer, &buffer));
    }
    must("clEnqueueNDRangeKernel", clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL));
    if (!codelet.opencl_flags[0])
        must("clFinish", clFinish(queue));
}

static void submit(starpu_data_handle_t from, starpu_data_handle_t to)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = &codelet;
    task->handles[0] = from;
    task->handles[1] = to;
    must("starpu_task_submit", starpu_task_submit(task));
}

static void on_acquired(void *acquired)
{
    *(volatile int *)acquired = 1;
}

/* The data on the host, as soon as all that has to come before is done. */
static float *acquire(starpu_data_handle_t data, enum starpu_data_access_mode mode)
{
    volatile int acquired = 0;
    must("starpu_data_acquire_on_node_cb",
         starpu_data_acquire_on_node_cb(data, STARPU_MAIN_RAM, mode, on_acquired, (void *)&acquired));
    while (!acquired)
        must("starpu_driver_run_once", starpu_driver_run_once(&worker));
    return starpu_data_handle_to_pointer(data, STARPU_MAIN_RAM);
}

static long long now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

/* Memory of the host that begins at a page, as copies like it best. */
static float *host_memory(size_t floats)
{
    void *memory = NULL;
    must("posix_memalign", posix_memalign(&memory, 4096, floats * sizeof(float)));
    return memory;
}

/* Three data, and what the host has as input. */
struct chain {
    starpu_data_handle_t data[3];
    const float *input;
    size_t floats;
};

static struct chain new_chain(const float *input, size_t floats)
{
    struct chain chain = {.input = input, .floats = floats};
    for (int i = 0; i < 3; i += 2) {
        uintptr_t host = (uintptr_t)host_memory(floats);
        starpu_vector_data_register(&chain.data[i], STARPU_MAIN_RAM, host, floats, sizeof *input);
    }
    /* The one between has no place on the host. */
    starpu_vector_data_register(&chain.data[1], -1, 0, floats, sizeof *input);
    return chain;
}

/* In, twice the kernel, out; StarPU copies what is stale. The time, and the output's last element. */
static long long lap(const struct chain *chain, float *last)
{
    const starpu_data_handle_t *data = chain->data;
    long long start = now();
    memcpy(acquire(data[0], STARPU_W), chain->input, chain->floats * sizeof *chain->input);
    starpu_data_release_on_node(data[0], STARPU_MAIN_RAM);
    submit(data[0], data[1]);
    submit(data[1], data[2]);
    const float *output = acquire(data[2], STARPU_R);
    long long time = now() - start;
    *last = output[chain->floats - 1];
    starpu_data_release_on_node(data[2], STARPU_MAIN_RAM);
    return time;
}

/* A lap of each chain; the time and the last element of the last. */
static long long laps(const struct chain *chains, size_t count, float *last)
{
    long long time = 0;
    for (size_t i = 0; i < count; i++)
        time = lap(&chains[i], last);
    return time;
}

/* Whether StarPU watches the event of a kernel, or the worker waits for it: which took less in the best of some laps. */
static void choose(const struct chain *chains, size_t count)
{
    const int ways[] = {0, STARPU_OPENCL_ASYNC};
    long long best[] = {LLONG_MAX, LLONG_MAX};
    float last;
    for (int i = 0; i < 100; i++) {
        codelet.opencl_flags[0] = ways[i % 2];
        long long time = laps(chains, count, &last);
        if (time < best[i % 2])
            best[i % 2] = time;
    }
    codelet.opencl_flags[0] = ways[best[1] < best[0]];
}

int main(int given, char **args)
{
    if (given != 6)
        fail("chain DEVICE SOURCE FLOATS VALUE CHAINS: arguments", given - 1);
    size_t floats = strtoul(args[3], NULL, 10), count = strtoul(args[5], NULL, 10);
    float value = strtof(args[4], NULL);
    if (floats == 0 || floats > UINT32_MAX || count == 0)
        fail("chain DEVICE SOURCE FLOATS VALUE CHAINS: numbers", EINVAL);
    float *input = host_memory(floats);
    struct chain *chains = calloc(count, sizeof *chains);
    if (!chains)
        fail("calloc", ENOMEM);
    for (size_t i = 0; i < floats; i++)
        input[i] = value;
    start(find_device(args[1]), args[2]);
    for (size_t i = 0; i < count; i++)
        chains[i] = new_chain(input, floats);
    choose(chains, count);
    for (int c; (c = getchar()) != EOF;) {
        if (c != '\n')
            continue;
        float last;
        long long time = laps(chains, count, &last);
        printf("%lld %.9g\n", time, last);
        fflush(stdout);
    }
    _Exit(0);
}
