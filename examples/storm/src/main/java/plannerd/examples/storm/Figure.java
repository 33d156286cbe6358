package plannerd.examples.storm;

import java.util.Locale;

/** What is measured of a run. Latencies and pauses are in milliseconds. */
enum Figure {
  /** Messages a second that instances counted. */
  THROUGHPUT("messages/s", 0),
  /** From when a message was made until an instance has counted it. */
  MEAN("mean ms", 1),
  P50("p50 ms", 1),
  P99("p99 ms", 1),
  /** From when a message was made until it is in the result: merged, where parts of counts are. */
  RESULT("result ms", 1),
  /** Parts of counts that were merged, for each message. */
  MERGES("merges", 2),
  /** Counts that all instances have, before they send them to aggregators, in the mean of seconds. */
  COUNTS("counts", 0),
  /** How far the busiest instance is above the mean: 1/(1+θ) is the mean of that of all seconds. */
  THETA("θ", 3),
  PLANS("plans", 0),
  ABORTS("aborts", 0),
  /** States that came to another instance. */
  MOVED("moved", 0),
  MOVED_KB("moved kB", 0),
  /** For how long words that moved were held. */
  PAUSE50("pause50", 0),
  PAUSE99("pause99", 0),
  /** Messages a second in the last five seconds before instances join. */
  BEFORE("before", 0),
  /** Messages a second in the last five seconds of the run. */
  AFTER("after", 0),
  /** Seconds from the join until the throughput of a second is 95 % of {@link #AFTER}. */
  RISE("rise s", 0),
  /** All messages of the run, its warm-up included. */
  MESSAGES("messages", 0);

  final String label;
  private final int decimals;

  Figure(String label, int decimals) {
    this.label = label;
    this.decimals = decimals;
  }

  /** Returns the name of its column in CSV. */
  String column() {
    return name().toLowerCase(Locale.ROOT);
  }

  String text(double value) {
    return String.format("%." + decimals + "f", value);
  }
}
