package plannerd.examples.storm;

import java.lang.reflect.RecordComponent;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.storm.LocalCluster;

/**
 * What a run came to. Latencies and pauses are in milliseconds.
 *
 * @param throughput messages a second
 * @param theta how far the busiest instance is above the mean: 1/(1+θ) is the mean of that of all
 *     seconds
 * @param moved states that came to another instance
 * @param violations messages that were lost, doubled, reordered or in the wrong place
 */
record Result(String grouping, double throughput, double mean, double p50, double p99, double theta, double plans,
    double aborts, double moved, double movedKb, double pause50, double pause99, double messages, int violations) {

  /** Runs a job, and measures it after its warm-up. */
  static Result measure(Options options, LocalCluster cluster, String plannerd, boolean live) throws Exception {
    try (Job job = new Job(options, cluster, plannerd)) {
      Shifts shifts = new Shifts(job);
      Monitor monitor = new Monitor(job, live);
      monitor.run(options.warmup.toSeconds(), shifts);
      if (options.join > 0) {
        job.join();
      }
      monitor.reset();
      monitor.run(options.duration.toSeconds(), shifts);
      for (int s = 0; s < 120 && job.plans.get() < options.plans; s++) { // on a machine that is busy otherwise
        monitor.run(1, shifts);
      }
      if (job.plans.get() < options.plans) {
        job.violated("there were " + job.plans + " plans in two minutes");
      }
      Result r = monitor.result();
      job.finish();
      return r.with(job.violations.get(), job.made.get());
    }
  }

  private Result with(int allViolations, double made) {
    return new Result(grouping, throughput, mean, p50, p99, theta, plans, aborts, moved, movedKb, pause50, pause99,
        made, allViolations);
  }

  String report() {
    String outcome = violations == 0 ? "nothing lost, doubled, reordered or misplaced" : violations + " VIOLATIONS";
    return String.format("%s: %.0f messages/s, latency %.1f ms in the mean, p50 %.1f, p99 %.1f, θ %.3f%n"
        + "%.0f plans, %.0f aborted, %.0f states moved (%.0f kB), words that moved waited p50 %.0f, p99 %.0f ms%n"
        + "%.0f messages in all: %s", grouping, throughput, mean, p50, p99, theta, plans, aborts, moved, movedKb,
        pause50, pause99, messages, outcome);
  }

  /** Returns the median of each figure; of violations the sum. */
  static Result median(List<Result> runs) {
    double[] m = new double[12];
    for (int i = 0; i < m.length; i++) {
      int at = i;
      double[] all = runs.stream().mapToDouble(r -> r.figures()[at]).sorted().toArray();
      m[i] = all[all.length / 2];
    }
    int violations = runs.stream().mapToInt(Result::violations).sum();
    return new Result(runs.get(0).grouping, m[0], m[1], m[2], m[3], m[4], m[5], m[6], m[7], m[8], m[9], m[10], m[11],
        violations);
  }

  private double[] figures() {
    return new double[] {throughput, mean, p50, p99, theta, plans, aborts, moved, movedKb, pause50, pause99, messages};
  }

  static String csvHeader() {
    return "run," + Arrays.stream(Result.class.getRecordComponents()).map(RecordComponent::getName)
        .collect(Collectors.joining(","));
  }

  String csv(String run) {
    return run + "," + grouping + "," + Arrays.stream(figures()).mapToObj(Double::toString)
        .collect(Collectors.joining(",")) + "," + violations;
  }
}
