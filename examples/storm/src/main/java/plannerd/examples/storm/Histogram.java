package plannerd.examples.storm;

import java.util.concurrent.atomic.AtomicLongArray;

/** Counts durations, each within 2 %, by the logarithm of its nanoseconds. Threads may share it. */
final class Histogram {
  private static final int PER_OCTAVE = 32;

  private final AtomicLongArray counts = new AtomicLongArray(64 * PER_OCTAVE);

  void add(long nanos) {
    double octaves = Math.log(Math.max(nanos, 1)) / Math.log(2);
    counts.incrementAndGet((int) Math.round(octaves * PER_OCTAVE));
  }

  void clear() {
    for (int i = 0; i < counts.length(); i++) {
      counts.set(i, 0);
    }
  }

  long count() {
    long n = 0;
    for (int i = 0; i < counts.length(); i++) {
      n += counts.get(i);
    }
    return n;
  }

  private static double millis(int at) {
    return Math.pow(2, (double) at / PER_OCTAVE) / 1e6;
  }

  /** Returns the value in milliseconds that so large a part is below; 0 where nothing was counted. */
  double quantile(double q) {
    double left = q * count();
    for (int i = 0; i < counts.length(); i++) {
      left -= counts.get(i);
      if (left <= 0 && counts.get(i) > 0) {
        return millis(i);
      }
    }
    return 0;
  }

  /** Returns the mean in milliseconds; 0 where nothing was counted. */
  double mean() {
    double sum = 0;
    for (int i = 0; i < counts.length(); i++) {
      sum += counts.get(i) * millis(i);
    }
    return sum / Math.max(count(), 1);
  }
}
