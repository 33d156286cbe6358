package plannerd.examples.storm;

import java.nio.file.Path;
import java.util.Locale;
import org.apache.storm.LocalCluster;

/** Counts words on Apache Storm, with words that plannerd moves between instances while messages come. */
public final class Main {
  private Main() {}

  public static void main(String[] args) throws Exception {
    Locale.setDefault(Locale.ROOT);
    Options options;
    try {
      options = Options.parse(args);
    } catch (IllegalArgumentException e) {
      System.err.println(e.getMessage());
      System.exit(2);
      return;
    }
    int violations;
    Path repository = Path.of(System.getProperty("plannerd.repository", "../.."));
    try (Plannerd plannerd = options.plannerd.isEmpty() ? new Plannerd(repository) : null;
        LocalCluster cluster = new LocalCluster()) {
      String address = plannerd == null ? options.plannerd : plannerd.address;
      violations = options.compare ? Comparison.run(options, cluster, address) : one(options, cluster, address);
    }
    System.exit(violations == 0 ? 0 : 1); // Storm leaves threads behind
  }

  private static int one(Options options, LocalCluster cluster, String address) throws Exception {
    if (options.grouping.planned()) {
      System.out.println("dashboard: " + address);
    }
    Result r = Result.measure("", options, cluster, address, true);
    System.out.println(r.report());
    return r.violations();
  }
}
