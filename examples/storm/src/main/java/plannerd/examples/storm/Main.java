package plannerd.examples.storm;

import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;
import org.apache.storm.Config;
import org.apache.storm.DaemonConfig;
import org.apache.storm.LocalCluster;

/** Counts words on Apache Storm, with words that plannerd moves between instances while messages come. */
public final class Main {
  private Main() {}

  public static void main(String[] args) {
    Locale.setDefault(Locale.ROOT);
    System.exit(run(args, Path.of(System.getProperty("plannerd.repository", "../.."))));
  }

  /** Does what the command line says, and returns the status of the process, in which Storm leaves threads behind. */
  static int run(String[] args, Path repository) {
    Options options;
    try {
      options = Options.parse(args);
    } catch (IllegalArgumentException e) {
      System.err.println(e.getMessage());
      return 2;
    }
    try (Plannerd plannerd = options.plannerd.isEmpty() ? new Plannerd(repository) : null;
        LocalCluster cluster = cluster()) {
      String address = plannerd == null ? options.plannerd : plannerd.address;
      int violations = options.compare ? Comparison.run(options, cluster, address) : one(options, cluster, address);
      return violations == 0 ? 0 : 1;
    } catch (Exception e) { // Storm's handler of what a thread does not catch would end the process with 0
      e.printStackTrace();
      return 1;
    }
  }

  /** Starts Storm in this process. It looks for new topologies, and waits for old ones, a second and not up to ten. */
  private static LocalCluster cluster() throws Exception {
    return new LocalCluster.Builder().withDaemonConf(Map.of(DaemonConfig.NIMBUS_MONITOR_FREQ_SECS, 1,
        Config.SUPERVISOR_WORKER_SHUTDOWN_SLEEP_SECS, 1)).build();
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
