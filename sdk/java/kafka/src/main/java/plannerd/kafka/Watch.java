package plannerd.kafka;

import java.time.Duration;
import java.util.Map;
import java.util.function.IntSupplier;
import java.util.function.Predicate;
import org.apache.kafka.clients.consumer.ConsumerConfig;

/**
 * What a consumer and its assignor share: the table, and whether the group has what the table says.
 * The assignor of the group's leader says what it assigned; the leader's consumer asks for a rebalance
 * when the table wants something else.
 */
final class Watch implements AutoCloseable {
  /** The name under which a consumer gives its watch to its assignor. */
  static final String CONFIG = "plannerd.watch";

  private static final int UNKNOWN = Integer.MIN_VALUE;
  private static final long BETWEEN = Duration.ofSeconds(5).toNanos();

  private final Settings settings; // null: no plannerd is named
  private final boolean classic; // of another protocol no consumer leads
  private Feed feed; // null: the table is read when it is needed
  private boolean waited;
  private Placement last = Placement.NONE;
  private Predicate<Placement> settled; // null: this consumer has not led the last rebalance
  private IntSupplier generation = () -> UNKNOWN; // that the consumer is in
  private int before = UNKNOWN; // the generation that it was in when it was asked to assign
  private int led = UNKNOWN; // the generation that it leads
  private Placement judged; // under which the assignment is known to be right
  private boolean owing; // another rebalance has to come, for what members gave away has to be assigned
  private long assigned; // when it was assigned
  private long asked = System.nanoTime() - BETWEEN;

  private Watch(Map<?, ?> configs) {
    String operator = Settings.text(configs, Settings.OPERATOR);
    String group = Settings.text(configs, ConsumerConfig.GROUP_ID_CONFIG);
    settings = Settings.of(configs, operator != null ? operator : group,
        Settings.text(configs, ConsumerConfig.CLIENT_ID_CONFIG));
    classic = !"consumer".equalsIgnoreCase(Settings.text(configs, ConsumerConfig.GROUP_PROTOCOL_CONFIG));
  }

  /** Returns the watch of the consumer that has these configurations. */
  static Watch of(Map<?, ?> configs) {
    return configs.get(CONFIG) instanceof Watch w ? w : new Watch(configs);
  }

  /** Follows the table from now on, until the watch is closed, for a consumer in some generation. */
  synchronized Watch follow(IntSupplier current) {
    if (settings != null && classic) {
      generation = current;
      feed = new Feed(settings);
    }
    return this;
  }

  /** Returns the table to assign by. It waits for the first one alone. */
  synchronized Placement table() {
    if (settings == null) {
      return Placement.NONE;
    }
    if (feed == null) {
      try (Feed once = new Feed(settings)) {
        Placement read = once.await(settings.timeout());
        last = read == Placement.NONE ? last : read;
      }
      return last;
    }
    Duration limit = waited ? Duration.ZERO : settings.timeout();
    waited = true;
    return feed.await(limit);
  }

  /**
   * Notes that this consumer leads, what tells whether the assignment is as a table says, and whether members give
   * something away, so that a rebalance follows. It does not by itself where one of them ends before it has joined
   * again: with an instance id, its next process is let in without one.
   */
  synchronized void leads(Predicate<Placement> settledUnder, boolean gives) {
    owing = gives;
    assigned = System.nanoTime();
    before = generation.getAsInt();
    led = UNKNOWN;
    settled = settledUnder;
    judged = null;
  }

  /** Notes that this consumer leads a generation by an assignment that a former process of it made. */
  synchronized void leadsOn(int current) {
    if (settled == null || led != UNKNOWN) {
      leads(table -> table == Placement.NONE, false);
      led = current;
    }
  }

  /** Reports whether to ask for a rebalance. */
  synchronized boolean due() {
    if (settled == null || feed == null) {
      return false;
    }
    int current = generation.getAsInt();
    if (led == UNKNOWN && current != before) {
      led = current;
    }
    if (led != current) {
      settled = led == UNKNOWN ? settled : null; // the rebalance is not over; or somebody else leads
      return false;
    }
    Placement table = feed.now();
    long now = System.nanoTime();
    boolean overdue = owing && now - assigned >= BETWEEN;
    if (table == judged && !overdue || now - asked < BETWEEN) {
      return false;
    }
    if (!overdue && settled.test(table)) {
      judged = table;
      return false;
    }
    asked = now;
    return true;
  }

  @Override
  public synchronized void close() {
    if (feed != null) {
      feed.close();
    }
  }
}
