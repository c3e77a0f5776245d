// Fourier transforms by Stockham's method, which sorts as it goes (Van Loan, Computational Frameworks for the Fast Fourier
// Transform, 1992, section 1.7), with any radices; and Bluestein's for lengths with a large prime factor.
//
// Of n points, a stage makes transforms of L·r points out of such of L. Butterfly u, of n/r, takes the points u + q·n/r, and
// gives those at (u / L)·L·r + u % L + L·p, for p and q below r. `w` holds exp(-2πi·t/n) for t below n; `sign` is 1, or -1 for the
// inverse.

#define ROOT(t) ((float2)(w[t].x, sign * w[t].y))

#define BUTTERFLY(IN, OUT) \
    { \
        uint part = n / r, low = u % L, first = (u / L) * L * r + low, m = part / L; \
        if (r == 4) { \
            float2 a = IN(u), b = times(IN(u + part), ROOT(low * m)), c = times(IN(u + 2 * part), ROOT(2 * low * m)), \
                   d = times(IN(u + 3 * part), ROOT(3 * low * m)); \
            float2 even = a + c, odd = a - c, sum = b + d, turned = sign * (float2)(b.y - d.y, d.x - b.x); \
            OUT(first, even + sum); \
            OUT(first + L, odd + turned); \
            OUT(first + 2 * L, even - sum); \
            OUT(first + 3 * L, odd - turned); \
        } else if (r == 2) { \
            float2 a = IN(u), b = times(IN(u + part), ROOT(low * m)); \
            OUT(first, a + b); \
            OUT(first + L, a - b); \
        } else { \
            for (uint p = 0; p < r; p++) { \
                float2 sum = IN(u); \
                uint step = low * m + p * part, t = 0; \
                for (uint q = 1; q < r; q++) { \
                    t = t >= n - step ? t - (n - step) : t + step; \
                    sum += times(IN(u + q * part), ROOT(t)); \
                } \
                OUT(first + p * L, sum); \
            } \
        } \
    }

// A group does a row, all stages of it, in local memory. `radices` has one a byte.
kernel void fft_rows(global const float2 *x, ulong4 lx, global float2 *out, ulong4 lo, global const float2 *w, uint n,
                     ulong2 radices, uint stages, float sign, float scale, local float2 *from, local float2 *to) {
    ulong row = (ulong)get_group_id(0) * n;
    uint me = get_local_id(0), items = get_local_size(0);
    for (uint i = me; i < n; i += items) from[i] = x[at(lx, row + i)];
    uint L = 1;
    for (uint s = 0; s < stages; s++) {
        barrier(CLK_LOCAL_MEM_FENCE);
        uint r = (uint)((s < 8 ? radices.x >> (8 * s) : radices.y >> (8 * (s - 8))) & 0xff);
#define FROM(i) from[i]
#define TO(i, value) to[i] = value
        for (uint u = me; u < n / r; u += items) BUTTERFLY(FROM, TO)
        local float2 *swap = from;
        from = to;
        to = swap;
        L *= r;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = me; i < n; i += items) out[at(lo, row + i)] = scale * from[i];
}

// One stage of all rows; an item does one butterfly.
kernel void fft_stage(global const float2 *x, ulong4 lx, global float2 *out, ulong4 lo, global const float2 *w, uint n, uint L,
                      uint r, ulong butterflies, float sign, float scale) {
    ulong i = get_global_id(0);
    if (i >= butterflies) return;
    ulong row = i / (n / r) * n;
    uint u = (uint)(i % (n / r));
#define READ(i) x[at(lx, row + (i))]
#define WRITE(i, value) out[at(lo, row + (i))] = scale * (value)
    BUTTERFLY(READ, WRITE)
}

// Bluestein: a transform of n points as a convolution of m >= 2n - 1, with the chirp c[j] = exp(-πi·j²/n).
kernel void chirp_in(global const float2 *x, ulong4 lx, global float2 *a, global const float2 *chirp, uint n, uint m,
                     ulong count, float sign) {
    ulong i = get_global_id(0);
    if (i >= count) return;
    uint j = (uint)(i % m);
    float2 c = chirp[min(j, n - 1)];
    a[i] = j < n ? times(x[at(lx, i / m * n + j)], (float2)(c.x, sign * c.y)) : (float2)(0.0f);
}

kernel void chirp_filter(global float2 *a, global const float2 *filter, uint m, ulong count, float sign) {
    ulong i = get_global_id(0);
    if (i >= count) return;
    float2 f = filter[i % m];
    a[i] = times(a[i], (float2)(f.x, sign * f.y));
}

kernel void chirp_out(global const float2 *a, global float2 *out, ulong4 lo, global const float2 *chirp, uint n, uint m,
                      ulong count, float sign, float scale) {
    ulong i = get_global_id(0);
    if (i >= count) return;
    uint j = (uint)(i % n);
    float2 c = chirp[j];
    out[at(lo, i)] = scale * times(a[i / n * m + j], (float2)(c.x, sign * c.y));
}
