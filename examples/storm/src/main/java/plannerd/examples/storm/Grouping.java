package plannerd.examples.storm;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;

/** A way to send tuples to instances. */
enum Grouping {
  /** Storm's own: a hash of the word. */
  FIELDS(null, 0),
  /** Storm's own: partial key grouping, each message goes to one of two instances. Nothing is merged. */
  PKG(null, 0),
  /** The same, and aggregators merge the parts of a word. */
  PKG_MERGED(null, 0),
  /** By the table, strategy readj, made of the last interval. */
  READJ("readj", 0),
  /** By the table, strategy mintable, made of the last interval. */
  MINTABLE("mintable", 0),
  /** By the table, strategy mixed, made of the last interval. */
  MIXED("mixed", 0),
  /** By the table, the default: strategy optimal, policy auto. */
  OPTIMAL("optimal", 0),
  /** The same, and hot words may be split: a part gets as many messages as the plan says. */
  SPLIT("optimal", 8),
  /** The same, but each message of a split word goes to the part whose instance has got the fewest. */
  SPLIT_LEAST_LOADED("optimal", 8),
  /** Storm's own: any instance takes any message. There is no state by word: this is the ideal. */
  SHUFFLE(null, 0),
  /** The same, and aggregators merge the parts of a word. */
  SHUFFLE_MERGED(null, 0);

  final String id = name().toLowerCase(Locale.ROOT).replace('_', '-');
  private final String strategy; // null: plannerd has no part in it
  final int maxParts; // of a hot word; 0: it stays whole

  Grouping(String strategy, int maxParts) {
    this.strategy = strategy;
    this.maxParts = maxParts;
  }

  static Grouping of(String id) {
    return Arrays.stream(values()).filter(g -> g.id.equals(id)).findFirst()
        .orElseThrow(() -> new IllegalArgumentException("there is no grouping " + id));
  }

  /** Reports whether plannerd says where tuples go. */
  boolean planned() {
    return strategy != null;
  }

  /** Reports whether all messages of a word go to one instance. */
  boolean isWhole() {
    return this == FIELDS || planned() && maxParts == 0;
  }

  /** Reports whether parts of counts are merged. */
  boolean merges() {
    return this == PKG_MERGED || this == SHUFFLE_MERGED;
  }

  /** Returns what plannerd is told of the job, which has so many instances now. */
  Map<String, Object> operator(int instances, Options options) {
    Map<String, Object> out = new LinkedHashMap<>();
    out.put("instances", instances);
    out.put("theta_max", options.theta);
    out.put("hash", Map.of("function", "modulo"));
    out.put("strategy", strategy);
    // Nobody is here to approve of what is made of a short interval.
    out.put("approval", Map.of("auto", "always", "on_pending", "replace"));
    if (!strategy.equals("optimal")) {
      out.put("policy", Map.of("forecast", Map.of("method", "last")));
    }
    if (maxParts > 0) {
      out.put("splitting", splitting(options.splitPrice));
    }
    return out;
  }

  private Map<String, Object> splitting(double price) {
    Map<String, Object> out = new LinkedHashMap<>(Map.of("max_parts", maxParts));
    if (Double.isFinite(price)) {
      out.put("price", price);
    }
    if (this == SPLIT_LEAST_LOADED) {
      out.put("routing", "least_loaded");
    }
    return out;
  }
}
