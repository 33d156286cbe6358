package plannerd.examples.storm;

import java.lang.reflect.Field;
import java.time.Duration;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import plannerd.sdk.handoff.Mode;

/** What the command line says. Its fields are the options; README.md says what they are. */
final class Options implements Cloneable {
  Grouping grouping = Grouping.OPTIMAL;
  int instances = 8;
  int sources = 2;
  int keys = 20_000;
  double zipf = 1;
  Duration service = Duration.ofNanos(400_000);
  double rate = 0;
  int window = 400;
  Duration shift = Duration.ZERO;
  double fluctuation = 1;
  int stateBytes = 100;
  Duration interval = Duration.ofSeconds(1);
  double theta = 0.05;
  double splitPrice = Double.POSITIVE_INFINITY;
  boolean follow = false;
  double abort = 0;
  int join = 0;
  Duration merge = Duration.ofMillis(10);
  Duration mergeService = Duration.ZERO;
  int aggregators = 2;
  boolean equal = false;
  boolean anchored = false;
  int plans = 0;
  Duration warmup = Duration.ofSeconds(8);
  Duration duration = Duration.ofSeconds(12);
  long seed = 1;
  boolean compare = false;
  int runs = 3;
  String groupings = "fields,pkg,readj,mixed,optimal,split,shuffle";
  String vary = "";
  String csv = "";
  String seconds = "";
  String plannerd = "";

  Mode mode() {
    return follow ? Mode.FOLLOWING : Mode.HOLDING;
  }

  boolean isWhole() {
    return grouping.isWhole();
  }

  /** Returns how many instances count before any join. */
  int counters() {
    return instances + (equal && isWhole() ? aggregators : 0);
  }

  /** Returns how many may count in the end. Storm's own groupings do not learn of another. */
  int most() {
    return counters() + (grouping.planned() ? join : 0);
  }

  /** Returns the options that {@code --vary} makes of these, by their name and value; without it, these alone. */
  Map<String, Options> settings() {
    if (vary.isEmpty()) {
      return Map.of("", this);
    }
    int at = vary.indexOf('=');
    if (at < 0) {
      throw new IllegalArgumentException("--vary is such as theta=0.02,0.08, not " + vary);
    }
    Map<String, Options> out = new LinkedHashMap<>();
    for (String text : vary.substring(at + 1).split(",")) {
      out.put(vary.substring(0, at + 1) + text, with(vary.substring(0, at), text));
    }
    return out;
  }

  private Options with(String name, String text) {
    Options o = copy();
    o.set(name, text);
    return o;
  }

  Options with(Grouping other, long otherSeed) {
    Options o = copy();
    o.grouping = other;
    o.seed = otherSeed;
    return o;
  }

  private Options copy() {
    try {
      return (Options) clone();
    } catch (CloneNotSupportedException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Reads {@code --name value}; of those that are true or false, {@code --name} stands for true. */
  static Options parse(String[] args) {
    Options o = new Options();
    for (int i = 0; i < args.length; i++) {
      String name = args[i].replaceFirst("^--", "");
      if (field(name).getType() == boolean.class) {
        o.set(name, "true");
      } else if (++i == args.length) {
        throw new IllegalArgumentException("--" + name + " needs a value");
      } else {
        o.set(name, args[i]);
      }
    }
    o.settings().values().forEach(Options::check); // what is wrong with any is told now
    return o;
  }

  private void check() {
    if (follow && abort > 0) {
      throw new IllegalArgumentException("plans whose tuples --follow cannot be aborted: see Mode.FOLLOWING");
    }
    if (Math.min(Math.min(instances, sources), Math.min(Math.min(keys, window), runs)) < 1) {
      throw new IllegalArgumentException("--instances, --sources, --keys, --window and --runs are 1 at least");
    }
    if (duration.toSeconds() < 1) {
      throw new IllegalArgumentException("--duration is 1s at least: what is measured is measured second by second");
    }
    groupings();
  }

  /** Returns the groupings that are compared. */
  List<Grouping> groupings() {
    return Arrays.stream(groupings.split(",")).map(Grouping::of).toList();
  }

  private static Field field(String name) {
    try {
      return Options.class.getDeclaredField(camel(name));
    } catch (NoSuchFieldException e) {
      throw new IllegalArgumentException("there is no option --" + name, e);
    }
  }

  private void set(String name, String text) {
    Field f = field(name);
    try {
      f.set(this, value(f.getType(), text));
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException("--" + name + ": " + e.getMessage(), e);
    } catch (IllegalAccessException e) {
      throw new IllegalStateException(e);
    }
  }

  private static String camel(String name) {
    StringBuilder out = new StringBuilder();
    for (String word : name.split("-")) {
      out.append(out.isEmpty() ? word : word.substring(0, 1).toUpperCase(Locale.ROOT) + word.substring(1));
    }
    return out.toString();
  }

  private static Object value(Class<?> type, String text) {
    if (type == int.class) {
      return Integer.parseInt(text);
    } else if (type == long.class) {
      return Long.parseLong(text);
    } else if (type == double.class) {
      return Double.parseDouble(text);
    } else if (type == boolean.class && (text.equals("true") || text.equals("false"))) {
      return Boolean.parseBoolean(text);
    } else if (type == Grouping.class) {
      return Grouping.of(text);
    } else if (type == Duration.class) {
      return duration(text);
    } else if (type == String.class) {
      return text;
    }
    throw new IllegalArgumentException(text + " is no value of the option");
  }

  /** Reads a duration such as 400us, 2ms, 10s or 0. */
  static Duration duration(String text) {
    String unit = text.replaceFirst("^[0-9.]+", "");
    double nanos = switch (unit) {
      case "us" -> 1e3;
      case "ms" -> 1e6;
      case "s" -> 1e9;
      case "" -> 0;
      default -> throw new IllegalArgumentException("a duration is such as 400us, 2ms, 10s or 0, not " + text);
    };
    double number = Double.parseDouble(text.substring(0, text.length() - unit.length()));
    if (unit.isEmpty() && number != 0) {
      throw new IllegalArgumentException("the duration " + text + " needs a unit: us, ms or s");
    }
    return Duration.ofNanos(Math.round(number * nanos));
  }
}
