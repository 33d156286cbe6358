package plannerd.examples.storm;

import java.io.IOException;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeSet;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import plannerd.sdk.client.ApiException;
import plannerd.sdk.client.Client;
import plannerd.sdk.client.Plan;
import plannerd.sdk.client.RoutingTable;
import plannerd.sdk.client.Row;
import plannerd.sdk.client.Statistics;
import plannerd.sdk.handoff.Driver;
import plannerd.sdk.router.View;
import plannerd.sdk.stats.Exact;

/** The driver: it sends statistics, starts plans, and sees them to their end. */
final class Planner implements AutoCloseable {
  private static final long RENEWAL = TimeUnit.SECONDS.toNanos(20);

  /** What an instance said. */
  private record Said(int instance, long version, boolean vote) {}

  private final Job job;
  private final Client client;
  private final long epoch = System.currentTimeMillis(); // higher than that of any driver before
  private final Driver machine = new Driver(epoch);
  private final BlockingQueue<Said> inbox = new LinkedBlockingQueue<>();
  private final Random random;
  private final Thread thread = new Thread(this::run, "driver");
  private boolean plans = true; // it makes new ones
  private volatile boolean closed;
  private View seen;
  private long interval = 1;
  private long asked = System.nanoTime(); // when statistics were sent last
  private long renewed = asked;
  private boolean decided; // whether the pending plan is aborted
  private TreeSet<Integer> acked = new TreeSet<>();

  Planner(Job job, Client client) {
    this.job = job;
    this.client = client;
    random = new Random(job.options.seed);
    thread.setDaemon(true);
    thread.start();
  }

  void acked(int instance, long version) {
    inbox.add(new Said(instance, version, false));
  }

  void voted(int instance, long version) {
    inbox.add(new Said(instance, version, true));
  }

  /** Makes no more plans, and waits until none is pending. */
  void finish() throws InterruptedException {
    synchronized (this) { // a plan that is being made is pending after this
      plans = false;
    }
    while (thread.isAlive() && job.follower().view().pending() != null) {
      Thread.sleep(20);
    }
  }

  @Override
  public void close() throws InterruptedException {
    closed = true;
    thread.join();
  }

  private void run() {
    while (!closed) {
      try {
        step();
      } catch (IOException e) {
        if (e instanceof ApiException a && a.is(ApiException.FENCED)) {
          job.violated("the driver was fenced");
          return;
        }
        // What is owed is said again: by the follower, or in the next interval.
        System.err.println("driver: " + e.getMessage());
      } catch (InterruptedException e) {
        return;
      } catch (RuntimeException e) {
        job.violated("the driver failed: " + e);
        return;
      }
    }
  }

  private void step() throws IOException, InterruptedException {
    View v = job.follower().view();
    if (v != seen) {
      see(v);
    }
    Said s = inbox.poll(2, TimeUnit.MILLISECONDS);
    if (s != null) {
      call(s.vote ? machine.voted(s.instance, s.version) : machine.acked(s.instance, s.version));
      return;
    }
    long now = System.nanoTime();
    if (now - renewed > RENEWAL) {
      renewed = now;
      job.renew();
    }
    synchronized (this) {
      if (plans && seen.pending() == null && now - asked > job.options.interval.toNanos()) {
        asked = now;
        plan();
      }
    }
  }

  private void see(View v) throws IOException, InterruptedException {
    if (seen != null && seen.pending() != null && v.table().version() > seen.table().version()) {
      job.plans.incrementAndGet();
    }
    seen = v;
    var p = v.handover().pending();
    if (p == null) {
      decided = false;
      acked.clear();
    }
    call(machine.see(p));
    if (p != null && !decided) {
      decided = true;
      if (random.nextDouble() < job.options.abort) {
        job.aborts.incrementAndGet();
        Thread.sleep(random.nextInt(50)); // some instances have exported by then
        call(machine.abort());
      }
    }
  }

  /** Does what the machine says. */
  private void call(List<Driver.Call> calls) throws IOException, InterruptedException {
    if (calls == null) {
      return;
    }
    for (Driver.Call c : calls) {
      RoutingTable.Pending p = seen.pending();
      if (p == null || p.version() != c.version()) {
        continue;
      }
      switch (c.what()) {
        case ACK -> ack(p, c.instance());
        case ROLLED_BACK -> tell(() -> client.abortPlan(p.plan(), epoch, true));
        case ABORT -> tell(() -> client.abortPlan(p.plan(), epoch, false));
        default -> throw new IllegalStateException("routers live in this process, and are not lost: " + c);
      }
    }
  }

  /** Acknowledges for all instances at once, when all have: each request takes a transaction. */
  private void ack(RoutingTable.Pending p, int instance) throws IOException, InterruptedException {
    acked.add(instance);
    if (acked.containsAll(p.awaits())) {
      tell(() -> client.ackPlan(p.plan(), List.copyOf(acked), epoch, p.batch()));
    }
  }

  private interface Telling {
    void tell() throws IOException, InterruptedException;
  }

  private static void tell(Telling t) throws IOException, InterruptedException {
    try {
      t.tell();
    } catch (ApiException e) {
      if (!e.is(ApiException.TRANSITION_NOT_ALLOWED)) { // else it has ended meanwhile
        throw e;
      }
    }
  }

  /**
   * Sends the statistics of the interval, and starts the plan that is made of them.
   */
  private void plan() throws IOException, InterruptedException {
    Map<Integer, List<Row>> counted = new HashMap<>();
    for (Exact costs : job.costs) {
      counted.put(counted.size(), costs.close());
    }
    List<Row> rows = Exact.merge(counted);
    if (rows.isEmpty()) {
      return;
    }
    Statistics s = new Statistics(rows, seen.table().version(), seen.origin(), null);
    client.createPlan(job.name, interval++, s);
    // It may be one that a person has approved since, of an interval before.
    Plan p = client.nextPlan(job.name, Duration.ZERO);
    if (p != null && p.status().equals(Plan.APPROVED)) {
      client.startPlan(p.id(), "driver", epoch);
      View before = seen;
      see(job.follower().next(before, Duration.ofSeconds(5)));
    }
  }
}
