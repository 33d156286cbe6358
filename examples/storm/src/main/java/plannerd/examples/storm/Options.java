package plannerd.examples.storm;

import java.lang.reflect.Field;
import java.time.Duration;
import java.util.Locale;
import plannerd.sdk.handoff.Mode;

/** What the command line says. Fields that are not private are options; README.md says what they are. */
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
  boolean follow = false;
  double abort = 0;
  int join = 0;
  int plans = 0;
  Duration warmup = Duration.ofSeconds(8);
  Duration duration = Duration.ofSeconds(12);
  long seed = 1;
  boolean compare = false;
  int runs = 3;
  String groupings = "fields,pkg,readj,mixed,optimal,split,shuffle";
  String csv = "";
  String plannerd = "";

  Mode mode() {
    return follow ? Mode.FOLLOWING : Mode.HOLDING;
  }

  boolean isWhole() {
    return grouping.isWhole();
  }

  Options with(Grouping other, long otherSeed) {
    try {
      Options o = (Options) clone();
      o.grouping = other;
      o.seed = otherSeed;
      return o;
    } catch (CloneNotSupportedException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Reads {@code --name value}; of those that are true or false, {@code --name} stands for true. */
  static Options parse(String[] args) {
    Options o = new Options();
    for (int i = 0; i < args.length; i++) {
      String name = args[i].replaceFirst("^--", "");
      try {
        Field f = Options.class.getDeclaredField(camel(name));
        if (f.getType() == boolean.class) {
          f.setBoolean(o, true);
        } else if (++i == args.length) {
          throw new IllegalArgumentException("--" + name + " needs a value");
        } else {
          f.set(o, value(f.getType(), args[i]));
        }
      } catch (NoSuchFieldException e) {
        throw new IllegalArgumentException("there is no option --" + name, e);
      } catch (IllegalAccessException e) {
        throw new IllegalStateException(e);
      }
    }
    return o;
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
    } else if (type == Grouping.class) {
      return Grouping.of(text);
    } else if (type == Duration.class) {
      return duration(text);
    }
    return text;
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
