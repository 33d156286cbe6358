package plannerd.examples.storm;

import java.util.concurrent.TimeUnit;

/** Watches a job second by second. */
final class Monitor {
  private final Job job;
  private final boolean prints;
  private long began;
  private long[] before; // processed by each instance, at the last second
  private long processed;
  private long plans;
  private long aborts;
  private long moved;
  private long movedBytes;
  private double balance; // the sum of 1/(1+θ)
  private int seconds;

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
    began = System.nanoTime();
    processed = job.processed();
    plans = job.plans.get();
    aborts = job.aborts.get();
    moved = job.moved.get();
    movedBytes = job.movedBytes.get();
    balance = 0;
    seconds = 0;
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
    for (int i = 0; i < after.length; i++) {
      sum += after[i] - before[i];
      most = Math.max(most, after[i] - before[i]);
    }
    double share = most == 0 ? 1 : (double) sum / after.length / most;
    balance += share;
    seconds++;
    before = after;
    if (prints) {
      System.out.printf("%6d  %10d  %5.3f  %6.1f  %6.1f  %5d  %5d  %9.0f%n", seconds, sum, 1 / share - 1,
          job.latencies.quantile(0.5), job.latencies.quantile(0.99), job.plans.get() - plans, job.moved.get() - moved,
          job.pauses.quantile(0.99));
    }
  }

  /** Returns what was measured since the last reset. */
  Result result() {
    double took = (System.nanoTime() - began) * 1e-9;
    return new Result(job.options.grouping.id, (job.processed() - processed) / took, job.latencies.mean(),
        job.latencies.quantile(0.5), job.latencies.quantile(0.99), seconds / balance - 1, job.plans.get() - plans,
        job.aborts.get() - aborts, job.moved.get() - moved, (job.movedBytes.get() - movedBytes) / 1000.0,
        job.pauses.quantile(0.5), job.pauses.quantile(0.99), job.made.get(), job.violations.get());
  }
}
