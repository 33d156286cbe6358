package plannerd.kafka;

import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.admin.ListTopicsOptions;
import org.apache.kafka.common.Uuid;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The names of topics by their ids, which is all that a coordinator tells its assignor. A thread of its
 * own asks the broker for them when one is missing.
 */
final class TopicNames implements AutoCloseable {
  /** Knows no topic. */
  static final TopicNames NONE = new TopicNames(null);
  /** Begins what is configured of the client that asks, such as {@code plannerd.admin.bootstrap.servers}. */
  static final String ADMIN = "plannerd.admin.";

  private static final Logger LOG = LoggerFactory.getLogger(TopicNames.class);
  private static final Duration BETWEEN = Duration.ofSeconds(1);

  private volatile Map<Uuid, String> names = Map.of();
  private final Thread thread; // null: nobody asks
  private boolean missing = true;

  private TopicNames(Map<String, Object> admin) {
    thread = admin == null ? null : new Thread(() -> run(admin), "plannerd-topics");
    if (thread != null) {
      thread.setDaemon(true);
      thread.start();
    }
  }

  /** Returns those of a cluster, given the configurations of a broker. */
  static TopicNames of(Map<String, ?> configs) {
    Map<String, Object> admin = new HashMap<>();
    configs.forEach((name, value) -> {
      if (name.startsWith(ADMIN)) {
        admin.put(name.substring(ADMIN.length()), value);
      }
    });
    String own = listener(Settings.text(configs, "listeners"));
    if (own != null) {
      admin.putIfAbsent(AdminClientConfig.BOOTSTRAP_SERVERS_CONFIG, own);
    }
    if (!admin.containsKey(AdminClientConfig.BOOTSTRAP_SERVERS_CONFIG)) {
      LOG.error("{}bootstrap.servers has to be configured, as the broker has no listener PLAINTEXT with a host: "
          + "without it partitions are assigned by number", ADMIN);
      return NONE;
    }
    return new TopicNames(admin);
  }

  /** Returns the address of the first listener of that name; null: it has none that names a host and a port. */
  private static String listener(String listeners) {
    for (String l : listeners == null ? new String[0] : listeners.split("\\s*,\\s*")) {
      if (l.matches("PLAINTEXT://[^:]+:[1-9]\\d*")) {
        return l.substring("PLAINTEXT://".length());
      }
    }
    return null;
  }

  /** Returns all names that are known, and has asked for those that are missing. */
  Map<Uuid, String> of(Collection<Uuid> ids) {
    Map<Uuid, String> known = names;
    if (thread != null && !known.keySet().containsAll(ids)) {
      synchronized (this) {
        missing = true;
        notifyAll();
      }
    }
    return known;
  }

  private void run(Map<String, Object> config) {
    try {
      while (true) {
        synchronized (this) {
          while (!missing) {
            wait();
          }
          missing = false;
        }
        ask(config);
        Thread.sleep(BETWEEN.toMillis()); // a topic may have gone, and be asked for forever
      }
    } catch (InterruptedException e) {
      // The assignor was closed.
    }
  }

  private void ask(Map<String, Object> config) throws InterruptedException {
    try (Admin admin = Admin.create(config)) {
      Map<Uuid, String> found = new HashMap<>();
      admin.listTopics(new ListTopicsOptions().timeoutMs(10_000)).listings().get(20, TimeUnit.SECONDS)
          .forEach(topic -> found.put(topic.topicId(), topic.name()));
      names = Map.copyOf(found);
    } catch (InterruptedException e) {
      throw e;
    } catch (Exception e) { // whatever it is, it is tried again
      LOG.warn("the names of topics cannot be read yet", e);
      synchronized (this) {
        missing = true;
      }
    }
  }

  @Override
  public void close() {
    if (thread != null) {
      thread.interrupt();
    }
  }
}
