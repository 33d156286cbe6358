package plannerd.examples.storm;

import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.storm.LocalCluster;

/** Runs the job under several groupings, which take turns, and prints medians. */
final class Comparison {
  private Comparison() {}

  /** Returns how many messages were lost, doubled, reordered or in the wrong place. */
  static int run(Options options, LocalCluster cluster, String plannerd) throws Exception {
    Map<Grouping, List<Result>> runs = new LinkedHashMap<>();
    for (int turn = 0; turn < options.runs; turn++) {
      // What disturbs the machine for a while disturbs one run of each at most.
      for (String id : options.groupings.split(",")) {
        Grouping g = Grouping.of(id);
        Result r = Result.measure(options.with(g, options.seed + turn), cluster, plannerd, false);
        System.err.println(r.csv(Integer.toString(turn + 1)));
        runs.computeIfAbsent(g, k -> new ArrayList<>()).add(r);
      }
    }
    Map<Grouping, Result> medians = new LinkedHashMap<>();
    runs.forEach((g, list) -> medians.put(g, Result.median(list)));
    if (!options.csv.isEmpty()) {
      write(Path.of(options.csv), runs, medians);
    }
    print(medians);
    return medians.values().stream().mapToInt(Result::violations).sum();
  }

  private static void print(Map<Grouping, Result> medians) {
    Result base = medians.getOrDefault(Grouping.FIELDS, medians.values().iterator().next());
    System.out.printf("%-22s %10s %6s %8s %8s %8s %7s %6s %7s %8s %8s %8s%n", "grouping", "messages/s", "ratio",
        "mean ms", "p50 ms", "p99 ms", "θ", "plans", "moved", "kB", "pause50", "pause99");
    medians.forEach((g, r) -> System.out.printf(
        "%-22s %10.0f %6.2f %8.1f %8.1f %8.1f %7.3f %6.0f %7.0f %8.0f %8.0f %8.0f%n",
        g.label, r.throughput(), r.throughput() / base.throughput(), r.mean(), r.p50(), r.p99(), r.theta(), r.plans(),
        r.moved(), r.movedKb(), r.pause50(), r.pause99()));
  }

  private static void write(Path file, Map<Grouping, List<Result>> runs, Map<Grouping, Result> medians)
      throws Exception {
    try (PrintWriter out = new PrintWriter(Files.newBufferedWriter(file, StandardCharsets.UTF_8))) {
      out.println(Result.csvHeader());
      runs.values().forEach(list -> {
        for (int i = 0; i < list.size(); i++) {
          out.println(list.get(i).csv(Integer.toString(i + 1)));
        }
      });
      medians.values().forEach(r -> out.println(r.csv("median")));
    }
  }
}
