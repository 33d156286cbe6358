package plannerd.examples.storm;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.apache.storm.Config;
import org.apache.storm.LocalCluster;
import org.apache.storm.generated.KillOptions;
import org.apache.storm.topology.BoltDeclarer;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.tuple.Fields;
import plannerd.sdk.client.Client;
import plannerd.sdk.handoff.Key;
import plannerd.sdk.router.Follower;
import plannerd.sdk.stats.Exact;

/**
 * A topology that runs, and all that its tasks share: Storm makes copies of spouts and bolts, which
 * find it here. In a cluster, each worker would have a follower of its own.
 */
final class Job implements AutoCloseable {
  static final String SOURCES = "sources";
  static final String COUNTERS = "counters";
  static final String CLOCK = "clock";
  static final String AGGREGATORS = "aggregators";
  private static final Duration LEASE = Duration.ofMinutes(2);
  private static volatile Job current;

  final Options options;
  final Words words;
  final Map<Integer, Forwarder> forwarders = new ConcurrentHashMap<>(); // by task
  final AtomicReferenceArray<Map<String, Long>> numbers; // of messages, by source
  final AtomicReferenceArray<Map<Key, Count>> counts; // by instance; null: it sends what it counts to aggregators
  final AtomicReferenceArray<Map<String, Long>> totals; // by aggregator
  final List<Exact> costs = new ArrayList<>(); // by instance
  final AtomicLong made = new AtomicLong();
  final AtomicLong sent = new AtomicLong(); // that are not held
  final AtomicLongArray processed; // by instance
  final AtomicLongArray kept; // how many counts an instance has, or had when it sent them to aggregators
  final AtomicLongArray versions; // of the table that instances have seen
  final AtomicLong merges = new AtomicLong(); // of parts of counts
  final AtomicLong merged = new AtomicLong(); // messages
  final AtomicLong ages = new AtomicLong(); // of messages that were merged, in nanoseconds, added up
  final Histogram latencies = new Histogram();
  final Histogram pauses = new Histogram();
  final AtomicLong moved = new AtomicLong();
  final AtomicLong movedBytes = new AtomicLong();
  final AtomicInteger plans = new AtomicInteger();
  final AtomicInteger aborts = new AtomicInteger();
  final AtomicInteger violations = new AtomicInteger();

  private final Client client; // null: plannerd has no part in it
  private final LocalCluster cluster;
  final String name; // of the topology, and of the operator: each job has its own
  private final CountDownLatch ready;
  private final Map<String, Long> epochs = new ConcurrentHashMap<>(); // of routers
  private volatile Follower follower;
  private volatile Planner planner;
  private final long started = System.nanoTime();
  private volatile int instances;
  private volatile boolean runs;

  Job(Options options, LocalCluster cluster, String plannerd) throws Exception {
    this.options = options;
    this.cluster = cluster;
    name = "words-" + System.nanoTime();
    int all = options.most();
    instances = options.counters();
    words = new Words(options.keys, options.zipf, options.instances, options.seed);
    numbers = new AtomicReferenceArray<>(options.sources);
    counts = new AtomicReferenceArray<>(all);
    totals = new AtomicReferenceArray<>(options.grouping.merges() ? options.aggregators : 0);
    processed = new AtomicLongArray(all);
    kept = new AtomicLongArray(all);
    versions = new AtomicLongArray(all);
    for (int i = 0; i < all; i++) {
      costs.add(new Exact());
    }
    ready = new CountDownLatch(options.sources);
    client = options.grouping.planned() ? new Client(plannerd) : null;
    if (client != null) {
      client.putOperator(name, options.grouping.operator(instances, options));
    }
    current = this;
    start();
  }

  static Job current() {
    return current;
  }

  static String routerName(int source) {
    return "source-" + source;
  }

  private void start() throws Exception {
    TopologyBuilder b = new TopologyBuilder();
    b.setSpout(SOURCES, new Source(), options.sources);
    boolean merges = options.grouping.merges();
    BoltDeclarer counters = b.setBolt(COUNTERS, merges ? new PartialCounter() : new Counter(), options.most());
    switch (options.grouping) {
      case FIELDS -> counters.fieldsGrouping(SOURCES, new Fields("word"));
      case PKG, PKG_MERGED -> counters.partialKeyGrouping(SOURCES, new Fields("word"));
      case SHUFFLE, SHUFFLE_MERGED -> counters.shuffleGrouping(SOURCES);
      default -> counters.customGrouping(SOURCES, new PlannerGrouping());
    }
    if (merges) {
      b.setSpout(CLOCK, new Clock());
      counters.allGrouping(CLOCK);
      b.setBolt(AGGREGATORS, new Aggregator(), options.aggregators)
          .fieldsGrouping(COUNTERS, Tuples.PARTS, new Fields("word"));
    } else {
      counters.directGrouping(COUNTERS, Tuples.TRANSFERS);
    }
    Config conf = new Config();
    conf.setNumWorkers(1);
    conf.setNumAckers(0);
    conf.put(Config.TOPOLOGY_SPOUT_WAIT_STRATEGY, "org.apache.storm.policy.WaitStrategyPark");
    conf.put(Config.TOPOLOGY_BOLT_WAIT_STRATEGY, "org.apache.storm.policy.WaitStrategyPark");
    conf.put(Config.TOPOLOGY_SPOUT_WAIT_PARK_MICROSEC, 200);
    conf.put(Config.TOPOLOGY_BOLT_WAIT_PARK_MICROSEC, 200);
    cluster.submitTopology(name, conf, b.createTopology());
    if (!ready.await(1, TimeUnit.MINUTES)) {
      throw new IllegalStateException("the sources do not start");
    }
    // Routers have registered; only now the table is read, and after that plans are made.
    if (client != null) {
      follower = Follower.open(new Follower.Config(client::getRoutingTable, name, "storm", null));
      follower.awaitTable(Duration.ofSeconds(30));
      planner = new Planner(this, client);
    }
    runs = true;
  }

  /** Registers a router, and returns its epoch. */
  long register(String router) throws IOException, InterruptedException {
    long epoch = client.putRouter(name, router, LEASE, null).epoch();
    epochs.put(router, epoch);
    return epoch;
  }

  /** Extends the leases of routers. */
  void renew() throws IOException, InterruptedException {
    for (Map.Entry<String, Long> r : epochs.entrySet()) {
      client.putRouter(name, r.getKey(), LEASE, r.getValue());
    }
  }

  void sourceIsReady() {
    ready.countDown();
  }

  /** Returns the follower; null: there is none yet. */
  Follower follower() {
    return follower;
  }

  Planner planner() {
    return planner;
  }

  boolean runs() {
    return runs;
  }

  /** Returns how many instances count. */
  int instances() {
    return instances;
  }

  /** Lets the job have all instances from now on, those that join included. */
  void join() throws IOException, InterruptedException {
    instances = options.most();
    if (client != null) {
      client.putOperator(name, options.grouping.operator(instances, options));
    }
  }

  /** Returns a time of {@link System#nanoTime} in nanoseconds since the job was made: many of these can be added up. */
  long sinceStart(long time) {
    return time - started;
  }

  /** Reports whether another message may be on its way. */
  boolean hasRoom() {
    boolean untilMerged = options.anchored && options.grouping.merges();
    return sent.get() - (untilMerged ? merged.get() : processed()) < options.window;
  }

  long processed() {
    long n = 0;
    for (int i = 0; i < processed.length(); i++) {
      n += processed.get(i);
    }
    return n;
  }

  /** Notes that a message was lost, doubled, reordered, or came to the wrong instance. */
  void violated(String what) {
    if (violations.incrementAndGet() <= 10) {
      System.err.println(what);
    }
  }

  /** Ends the stream, waits until everything was counted, and compares the counts. */
  void finish() throws InterruptedException {
    runs = false;
    if (planner != null) {
      planner.finish();
    }
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    while (!isSettled() && System.nanoTime() < end) {
      Thread.sleep(20);
    }
    if (!isSettled()) {
      violated("of " + made + " messages, " + processed() + " were counted");
    }
    check();
  }

  private boolean isSettled() {
    long version = follower == null ? 0 : follower.view().table().version();
    for (int i = 0; i < versions.length(); i++) {
      if (versions.get(i) < version) {
        return false;
      }
    }
    return processed() == made.get() && (!options.grouping.merges() || merged.get() == made.get());
  }

  private void check() {
    Map<Key, Long> want = new HashMap<>();
    for (int s = 0; s < numbers.length(); s++) {
      numbers.get(s).forEach((word, n) -> want.merge(Key.of(word), n, Long::sum));
    }
    for (int i = 0; i < totals.length(); i++) {
      totals.get(i).forEach((word, n) -> want.merge(Key.of(word), -n, Long::sum));
    }
    for (int i = 0; i < counts.length() && totals.length() == 0; i++) {
      int instance = i;
      counts.get(i).forEach((key, c) -> {
        long left = want.merge(key, -c.n, Long::sum);
        if (left != 0 && options.isWhole()) {
          violated(left + " messages of " + key + " were not counted at instance " + instance);
        }
        if (follower != null && options.isWhole() && follower.lookup(key.bytes()).instance() != instance) {
          violated(key + " is at instance " + instance + ", and not where the table says");
        }
      });
    }
    want.forEach((key, left) -> {
      if (left != 0) {
        violated(left + " messages of " + key + " were not counted");
      }
    });
  }

  @Override
  public void close() throws Exception {
    runs = false;
    if (planner != null) {
      planner.close();
      follower.close();
    }
    KillOptions at = new KillOptions();
    at.set_wait_secs(0);
    cluster.killTopologyWithOpts(name, at);
    while (cluster.getTopologySummaries().stream().anyMatch(t -> t.get_name().equals(name))) {
      Thread.sleep(50);
    }
  }
}
