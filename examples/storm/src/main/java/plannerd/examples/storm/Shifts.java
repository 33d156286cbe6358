package plannerd.examples.storm;

/** Lets words change places when it is time. */
final class Shifts {
  private final Job job;
  private long next;

  Shifts(Job job) {
    this.job = job;
    next = System.nanoTime() + job.options.shift.toNanos();
  }

  void look() {
    if (!job.options.shift.isZero() && System.nanoTime() >= next) {
      next += job.options.shift.toNanos();
      job.words.shift(job.options.fluctuation);
    }
  }
}
