package plannerd.examples.storm;

import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.storm.LocalCluster;

/** Runs the job under several groupings and settings, which take turns, and prints medians. */
final class Comparison {
  private Comparison() {}

  /** Returns how many messages were lost, doubled, reordered or in the wrong place. */
  static int run(Options options, LocalCluster cluster, String plannerd) throws Exception {
    Map<String, List<Result>> runs = new LinkedHashMap<>();
    Map<String, Options> settings = options.settings();
    System.err.println(Result.csvHeader());
    for (int turn = 0; turn < options.runs; turn++) {
      // What disturbs the machine for a while disturbs one run of each at most.
      for (Map.Entry<String, Options> s : settings.entrySet()) {
        for (Grouping grouping : options.groupings()) {
          Options o = s.getValue().with(grouping, options.seed + turn);
          Result r = Result.measure(s.getKey(), o, cluster, plannerd, false);
          System.err.println(r.csv(Integer.toString(turn + 1)));
          runs.computeIfAbsent(s.getKey() + " " + grouping.id, k -> new ArrayList<>()).add(r);
        }
      }
    }
    List<Result> medians = runs.values().stream().map(Result::median).toList();
    if (!options.csv.isEmpty()) {
      write(Path.of(options.csv), runs, medians);
    }
    if (!options.seconds.isEmpty()) {
      writeSeconds(Path.of(options.seconds), runs);
    }
    print(medians, options.runs);
    return medians.stream().mapToInt(Result::violations).sum();
  }

  /** Prints all that was measured of some; ratios are those to the first grouping in the same setting. */
  private static void print(List<Result> medians, int runs) {
    List<Figure> columns = Arrays.stream(Figure.values())
        .filter(f -> medians.stream().anyMatch(r -> r.figures().containsKey(f))).toList();
    System.out.println("Medians of " + runs + " runs");
    System.out.printf("%-20s %-18s %6s", "setting", "grouping", "ratio");
    columns.forEach(f -> System.out.printf(" %10s", f.label));
    System.out.println();
    Result base = medians.get(0);
    for (Result r : medians) {
      base = r.setting().equals(base.setting()) ? base : r;
      System.out.printf("%-20s %-18s %6.2f", r.setting(), r.grouping().id,
          r.of(Figure.THROUGHPUT) / base.of(Figure.THROUGHPUT));
      columns.forEach(f -> System.out.printf(" %10s", r.figures().containsKey(f) ? f.text(r.of(f)) : ""));
      System.out.println();
    }
  }

  private static void write(Path file, Map<String, List<Result>> runs, List<Result> medians) throws Exception {
    try (PrintWriter out = new PrintWriter(Files.newBufferedWriter(file, StandardCharsets.UTF_8))) {
      out.println(Result.csvHeader());
      runs.values().forEach(list -> {
        for (int i = 0; i < list.size(); i++) {
          out.println(list.get(i).csv(Integer.toString(i + 1)));
        }
      });
      medians.forEach(r -> out.println(r.csv("median")));
    }
  }

  /** Writes the messages of each second, of which the measurement's first is 1. */
  private static void writeSeconds(Path file, Map<String, List<Result>> runs) throws Exception {
    try (PrintWriter out = new PrintWriter(Files.newBufferedWriter(file, StandardCharsets.UTF_8))) {
      out.println("run,setting,grouping,second,messages");
      runs.values().forEach(list -> {
        for (int i = 0; i < list.size(); i++) {
          Result r = list.get(i);
          for (int s = 0; s < r.seconds().size(); s++) {
            out.printf("%d,%s,%s,%d,%d%n", i + 1, r.setting(), r.grouping().id, s + 1 - r.warmup(), r.seconds().get(s));
          }
        }
      });
    }
  }
}
