package plannerd.examples.storm;

import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.storm.LocalCluster;

/**
 * What a run came to.
 *
 * @param setting what {@code --vary} has set
 * @param seconds messages of each second, those before the measurement first
 * @param warmup how many seconds those are
 * @param violations messages that were lost, doubled, reordered or in the wrong place
 */
record Result(String setting, Grouping grouping, Map<Figure, Double> figures, List<Long> seconds, int warmup,
    int violations) {

  /** Runs a job, and measures it after its warm-up. */
  static Result measure(String setting, Options options, LocalCluster cluster, String plannerd, boolean live)
      throws Exception {
    try (Job job = new Job(options, cluster, plannerd)) {
      Shifts shifts = new Shifts(job);
      Monitor monitor = new Monitor(job, live);
      monitor.run(options.warmup.toSeconds(), shifts);
      if (options.join > 0) {
        job.join();
      }
      monitor.reset();
      monitor.run(options.duration.toSeconds(), shifts);
      int plans = options.grouping.planned() ? options.plans : 0;
      for (int s = 0; s < 120 && job.plans.get() < plans; s++) { // on a machine that is busy otherwise
        monitor.run(1, shifts);
      }
      if (job.plans.get() < plans) {
        job.violated("there were " + job.plans + " plans in two minutes");
      }
      Map<Figure, Double> figures = monitor.figures();
      job.finish();
      figures.put(Figure.MESSAGES, (double) job.made.get());
      return new Result(setting, options.grouping, figures, monitor.seconds(), (int) options.warmup.toSeconds(),
          job.violations.get());
    }
  }

  /** Returns a figure; 0 where it was not measured. */
  double of(Figure f) {
    return figures.getOrDefault(f, 0.0);
  }

  private String text(Figure f) {
    return f.text(of(f));
  }

  String report() {
    String outcome = violations == 0 ? "nothing lost, doubled, reordered or misplaced" : violations + " VIOLATIONS";
    String all = figures.keySet().stream().map(f -> f.label + " " + text(f)).collect(Collectors.joining(", "));
    return grouping.id + ": " + all + "\n" + outcome;
  }

  /** Returns the median of each figure; of violations the sum. */
  static Result median(List<Result> runs) {
    Result first = runs.get(0);
    Map<Figure, Double> medians = new EnumMap<>(Figure.class);
    for (Figure f : first.figures.keySet()) {
      double[] all = runs.stream().mapToDouble(r -> r.of(f)).sorted().toArray();
      medians.put(f, all[all.length / 2]);
    }
    int violations = runs.stream().mapToInt(Result::violations).sum();
    return new Result(first.setting, first.grouping, medians, List.of(), first.warmup, violations);
  }

  static String csvHeader() {
    return "run,setting,grouping," + Arrays.stream(Figure.values()).map(Figure::column)
        .collect(Collectors.joining(",")) + ",violations";
  }

  /** Returns a row; a figure that was not measured is empty in it. */
  String csv(String run) {
    return run + "," + setting + "," + grouping.id + "," + Arrays.stream(Figure.values())
        .map(f -> figures.containsKey(f) ? Double.toString(of(f)) : "").collect(Collectors.joining(",")) + ","
        + violations;
  }
}
