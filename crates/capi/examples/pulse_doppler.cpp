// Pulse Doppler in C++: how far away a target is, and how fast it moves, from 128 pulses of 64 samples.
//
// The echo of a chirp comes back late (the range), and turned a little further from pulse to pulse (the speed). Each pulse
// is correlated with the chirp by transforms; then each range bin is transformed over the pulses. All of it stays where it
// runs: whole matrices, two copies in and one out on an accelerator.
//
//   c++ -std=c++17 pulse_doppler.cpp -o pulse_doppler $(pkg-config --cflags --libs rimms) && ./pulse_doppler
#include <hete.hpp>

#include <cmath>
#include <cstdio>
#include <random>

using rimms::complex;
using rimms::hete_data;

namespace {
constexpr std::size_t pulses = 128, samples = 64, length = 128; // a pulse padded to twice its samples
constexpr std::size_t late = 23;                                // samples until the echo comes
constexpr int doppler = -37;                                    // turns of the phase over all pulses
const float pi = std::acos(-1.0F);

// The transmitted pulse.
complex chirp(std::size_t i) {
    const float t = static_cast<float>(i) / samples;
    return std::polar(1.0F, pi * samples / 2 * t * t);
}
} // namespace

int main() try {
    hete_data<complex> echoes(pulses * length), reference(length), ranges(pulses * length), turned(length * pulses);
    hete_data<float> map(length * pulses);
    hete_data<hete_Peak> peak(1);

    std::mt19937 random(1);
    std::normal_distribution<float> noise(0.0F, 0.5F);
    auto received = echoes.overwrite();
    for (std::size_t p = 0; p < pulses; ++p) {
        const float phase = 2.0F * pi * doppler * static_cast<float>(p) / pulses;
        for (std::size_t i = 0; i < length; ++i) {
            complex &sample = received[p * length + i];
            sample = complex(noise(random), noise(random));
            if (i >= late && i < late + samples) sample += chirp(i - late) * std::polar(1.0F, phase);
        }
    }
    auto pulse = reference.overwrite();
    for (std::size_t i = 0; i < length; ++i) pulse[i] = i < samples ? chirp(i) : 0.0F;

    rimms::fft(echoes, echoes, length);                          // each pulse, in place
    rimms::fft(reference, reference);                            //
    rimms::zip(ZIP_CONJ_MULT, echoes, reference, ranges);        // one reference for all pulses
    rimms::ifft(ranges, ranges, length);                         // correlations: lag by lag
    rimms::transpose(pulses, length, ranges, turned);            // the corner turn
    rimms::fft(turned, turned, pulses);                          // over the pulses
    rimms::magnitude(turned, map);                               //
    rimms::arg_max(map, peak);

    const hete_Peak found = peak.read()[0];
    const std::size_t range = found.index / pulses, bin = found.index % pulses;
    const int turns = bin < pulses / 2 ? static_cast<int>(bin) : static_cast<int>(bin) - static_cast<int>(pulses);
    std::printf("an echo %zu samples late, %d turns of phase; wanted were %zu and %d\n", range, turns, late, doppler);
    const rimms_Stats stats = rimms::stats();
    std::printf("calls %llu, copies to devices %llu, back %llu\n", static_cast<unsigned long long>(stats.calls),
                static_cast<unsigned long long>(stats.host_to_device.copies),
                static_cast<unsigned long long>(stats.device_to_host.copies));
    return range == late && turns == doppler ? 0 : 1;
} catch (const rimms::error &e) {
    std::fprintf(stderr, "%s: %s\n", e.name(), e.what());
    return 1;
}
