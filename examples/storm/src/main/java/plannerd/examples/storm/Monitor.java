package plannerd.examples.storm;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** Watches a job second by second. */
final class Monitor {
  /** How many seconds make the throughput before and after a join. */
  private static final int AROUND = 5;

  private final Job job;
  private final boolean prints;
  private final List<Long> seconds = new ArrayList<>(); // messages of each
  private final List<Double> shares = new ArrayList<>(); // 1/(1+θ) of each
  private final List<Long> counts = new ArrayList<>(); // that instances have at the end of each
  private int warmup; // how many seconds are not measured
  private long began;
  private long[] before; // processed by each instance, at the last second
  private long processed;
  private long plans;
  private long aborts;
  private long moved;
  private long movedBytes;
  private long merges;
  private long merged;
  private long ages;

  Monitor(Job job, boolean prints) {
    this.job = job;
    this.prints = prints;
    before = now();
    reset();
    if (prints) {
      System.out.println("second  messages/s      θ  p50 ms  p99 ms  plans  moved  pause p99");
    }
  }

  private long[] now() {
    long[] out = new long[job.processed.length()];
    for (int i = 0; i < out.length; i++) {
      out[i] = job.processed.get(i);
    }
    return out;
  }

  /** Begins to measure anew. */
  void reset() {
    warmup = seconds.size();
    began = System.nanoTime();
    processed = job.processed();
    plans = job.plans.get();
    aborts = job.aborts.get();
    moved = job.moved.get();
    movedBytes = job.movedBytes.get();
    merges = job.merges.get();
    merged = job.merged.get();
    ages = job.ages.get();
    job.latencies.clear();
    job.pauses.clear();
  }

  /** Watches for so many seconds. */
  void run(long during, Shifts shifts) throws InterruptedException {
    long begin = System.nanoTime();
    for (long second = 1; second <= during; second++) {
      long end = begin + TimeUnit.SECONDS.toNanos(second);
      while (System.nanoTime() < end) {
        shifts.look();
        Thread.sleep(Math.max(1, Math.min(50, (end - System.nanoTime()) / 1_000_000)));
      }
      look();
    }
  }

  private void look() {
    long[] after = now();
    long sum = 0;
    long most = 0;
    long kept = 0;
    for (int i = 0; i < after.length; i++) {
      sum += after[i] - before[i];
      most = Math.max(most, after[i] - before[i]);
      kept += job.kept.get(i);
    }
    double share = most == 0 ? 1 : (double) sum / job.instances() / most;
    seconds.add(sum);
    shares.add(share);
    counts.add(kept);
    before = after;
    if (prints) {
      System.out.printf("%6d  %10d  %5.3f  %6.1f  %6.1f  %5d  %5d  %9.0f%n", seconds.size() - warmup, sum,
          1 / share - 1, job.latencies.quantile(0.5), job.latencies.quantile(0.99), job.plans.get() - plans,
          job.moved.get() - moved, job.pauses.quantile(0.99));
    }
  }

  /** Returns the messages of each second. */
  List<Long> seconds() {
    return seconds;
  }

  /** Returns what was measured since the last reset. */
  Map<Figure, Double> figures() {
    Map<Figure, Double> out = new EnumMap<>(Figure.class);
    out.put(Figure.THROUGHPUT, (job.processed() - processed) / ((System.nanoTime() - began) * 1e-9));
    out.put(Figure.MEAN, job.latencies.mean());
    out.put(Figure.P50, job.latencies.quantile(0.5));
    out.put(Figure.P99, job.latencies.quantile(0.99));
    out.put(Figure.RESULT, out.get(Figure.MEAN));
    out.put(Figure.COUNTS, mean(counts, warmup, counts.size()));
    out.put(Figure.THETA, 1 / mean(shares, warmup, shares.size()) - 1);
    if (job.options.grouping.merges()) {
      out.put(Figure.RESULT, (job.ages.get() - ages) * 1e-6 / Math.max(1, job.merged.get() - merged));
      out.put(Figure.MERGES, (double) (job.merges.get() - merges) / Math.max(1, job.processed() - processed));
    }
    if (job.options.grouping.planned()) {
      out.put(Figure.PLANS, (double) (job.plans.get() - plans));
      out.put(Figure.ABORTS, (double) (job.aborts.get() - aborts));
      out.put(Figure.MOVED, (double) (job.moved.get() - moved));
      out.put(Figure.MOVED_KB, (job.movedBytes.get() - movedBytes) / 1000.0);
      out.put(Figure.PAUSE50, job.pauses.quantile(0.5));
      out.put(Figure.PAUSE99, job.pauses.quantile(0.99));
    }
    if (job.options.join > 0) {
      double after = mean(seconds, Math.max(warmup, seconds.size() - AROUND), seconds.size());
      out.put(Figure.BEFORE, mean(seconds, Math.max(0, warmup - AROUND), warmup));
      out.put(Figure.AFTER, after);
      out.put(Figure.RISE, (double) rise(seconds.subList(warmup, seconds.size()), 0.95 * after));
    }
    return out;
  }

  /** Returns after how many seconds one has so many messages; one more than there are where none has. */
  static int rise(List<Long> seconds, double messages) {
    int at = 0;
    while (at < seconds.size() && seconds.get(at) < messages) {
      at++;
    }
    return at + 1;
  }

  private static double mean(List<? extends Number> of, int from, int to) {
    return of.subList(from, to).stream().mapToDouble(Number::doubleValue).average().orElse(0);
  }
}
