// Where the largest value is, in two steps: each group finds the one of its part, one group that of all.
// A candidate is a place and a value; place NONE: nothing but NaN so far, and of those the first counts as place 0.

#define NONE (~(ulong)0)
#define GROUP 64

void take(ulong *place, float *value, ulong other, float found) {
    if (other != NONE && (*place == NONE || found > *value || (found == *value && other < *place))) {
        *place = other;
        *value = found;
    }
}

// The group's own, to its item 0.
void reduce(in_group ulong *places, in_group float *values, ulong *place, float *value) {
    size_t me = get_local_id(0);
    places[me] = *place;
    values[me] = *value;
    for (size_t apart = GROUP / 2; apart > 0; apart /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (me < apart) {
            take(place, value, places[me + apart], values[me + apart]);
            places[me] = *place;
            values[me] = *value;
        }
    }
}

kernel void arg_max_parts(buffer const float *x, ulong4 lx, ulong n, buffer ulong *parts, buffer float *largest) {
    group_memory ulong places[GROUP];
    group_memory float values[GROUP];
    ulong place = NONE;
    float value = 0.0f;
    for (ulong i = get_global_id(0); i < n; i += get_global_size(0)) {
        float found = x[at(lx, i)];
        take(&place, &value, isnan(found) ? NONE : i, found);
    }
    reduce(places, values, &place, &value);
    if (get_local_id(0) == 0) {
        parts[get_group_id(0)] = place;
        largest[get_group_id(0)] = value;
    }
}

// A float's value as the bits of a double: not every device has these.
ulong widened(float x) {
    uint bits = as_uint(x);
    ulong sign = (ulong)(bits >> 31) << 63;
    uint exponent = (bits >> 23) & 0xff, mantissa = bits & 0x7fffff;
    if (exponent == 0xff) return sign | (0x7ffUL << 52) | ((ulong)mantissa << 29);
    if (exponent == 0) {
        if (mantissa == 0) return sign;
        uint shift = clz(mantissa) - 8;
        return sign | ((ulong)(897 - shift) << 52) | ((ulong)((mantissa << shift) & 0x7fffff) << 29);
    }
    return sign | ((ulong)(exponent + 896) << 52) | ((ulong)mantissa << 29);
}

// `peak` is an index and a double, as two words.
kernel void arg_max(buffer const ulong *parts, buffer const float *largest, uint count, buffer ulong *peak, ulong4 lp) {
    group_memory ulong places[GROUP];
    group_memory float values[GROUP];
    ulong place = NONE;
    float value = 0.0f;
    for (uint i = get_local_id(0); i < count; i += GROUP) take(&place, &value, parts[i], largest[i]);
    reduce(places, values, &place, &value);
    if (get_local_id(0) == 0) {
        peak[at(lp, 0)] = place == NONE ? 0 : place;
        peak[at(lp, 1)] = place == NONE ? 0x7ff8UL << 48 : widened(value);
    }
}
