package plannerd.sdk.handoff;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import plannerd.sdk.route.Entry;
import plannerd.sdk.route.HashConfig;
import plannerd.sdk.route.Node;
import plannerd.sdk.route.Routing;

/**
 * Runs long random histories of routers and instances that are slow or crash at times, under plans
 * that are committed, aborted, and taken over, and demands the number of each message of a key one
 * by one, and each key where the table says in the end.
 */
class HistoriesTest {
  private static final int ROUTERS = 2;
  private static final int INSTANCES = 4;
  private static final int KEYS = 10;

  /** A message of a source: the n-th of its key. */
  private record Message(Key key, long n) {}

  /** What the histories came to, so that the test knows that they had something in them. */
  private static final class Tally {
    int processed;
    int repeated;
    int committed;
    int aborted;
    int fenced;
    int moved;
    int parked;
  }

  @Test
  void nothingIsLostWhileRoutersHold() {
    Tally all = new Tally();
    for (int seed = 0; seed < 150; seed++) {
      new World(Mode.HOLDING, seed, all).run();
    }
    assertTrue(all.committed > 150 && all.aborted > 50 && all.fenced > 50 && all.moved > 400 && all.repeated > 400,
        () -> all.committed + " " + all.aborted + " " + all.fenced + " " + all.moved + " " + all.repeated);
  }

  @Test
  void nothingIsLostWhileMessagesFollow() {
    Tally all = new Tally();
    for (int seed = 0; seed < 150; seed++) {
      new World(Mode.FOLLOWING, seed, all).run();
    }
    assertTrue(all.committed > 150 && all.fenced > 50 && all.moved > 400 && all.parked > 50,
        () -> all.committed + " " + all.fenced + " " + all.moved + " " + all.parked);
    assertEquals(0, all.aborted);
  }

  /** The service, the processes, and all that is on its way between them. */
  private static final class World {
    final Mode mode;
    final Random random;
    final Tally tally;
    final List<Source> sources = new ArrayList<>();
    final List<Process> processes = new ArrayList<>();
    final Map<String, Long> epochs = new HashMap<>(); // as the service knows them
    // By router and instance, and by instance and instance.
    final List<List<Deque<Read<Message>>>> channels = new ArrayList<>();
    final List<List<Deque<Transfer>>> transfers = new ArrayList<>();
    final long[][] highest = new long[ROUTERS][INSTANCES]; // epochs in channels
    plannerd.sdk.route.Table table;
    Pending pending;
    plannerd.sdk.route.Table pendingTable;
    Driver driver;
    long executor = 1;
    long versions = 1;
    boolean quiet; // nothing fails any more

    World(Mode mode, long seed, Tally tally) {
      this.mode = mode;
      this.tally = tally;
      random = new Random(seed);
      List<Node> nodes = IntStream.range(0, INSTANCES).mapToObj(i -> new Node(i, 0)).toList();
      table = plannerd.sdk.route.Table.of(1, HashConfig.of("modulo").over(nodes), List.of(), "r");
      for (int i = 0; i < INSTANCES; i++) {
        transfers.add(queues(INSTANCES));
        processes.add(new Process(this, i));
      }
      for (int r = 0; r < ROUTERS; r++) {
        channels.add(queues(INSTANCES));
        sources.add(new Source(this, r));
      }
    }

    private static <T> List<Deque<T>> queues(int n) {
      List<Deque<T>> out = new ArrayList<>();
      for (int i = 0; i < n; i++) {
        out.add(new ArrayDeque<>());
      }
      return out;
    }

    boolean chance(double p) {
      return !quiet && random.nextDouble() < p;
    }

    View view() {
      return new View(table.version(), new Routes(pending == null ? table : pendingTable), pending);
    }

    void run() {
      for (int step = 0; step < 3000; step++) {
        step();
      }
      quiet = true;
      for (int step = 0; step < 200_000 && !isDone(); step++) {
        step();
      }
      assertTrue(isDone(), "it does not end");
      check();
    }

    private boolean isDone() {
      return pending == null && sources.stream().allMatch(s -> s.machine.holds() == 0 && s.open.isEmpty())
          && channels.stream().flatMap(List::stream).allMatch(Deque::isEmpty)
          && transfers.stream().flatMap(List::stream).allMatch(Deque::isEmpty)
          && processes.stream().allMatch(p -> p.machine.durable().doing == null);
    }

    private void step() {
      int what = random.nextInt(12);
      Source s = sources.get(random.nextInt(ROUTERS));
      Process p = processes.get(random.nextInt(INSTANCES));
      if (what < 3) {
        s.step();
      } else if (what < 7) {
        p.readOne(random.nextInt(ROUTERS));
      } else if (what < 9) {
        p.receiveOne(random.nextInt(INSTANCES));
      } else if (what < 10) {
        p.see();
      } else if (pending == null) {
        if (!quiet && random.nextInt(4) == 0) {
          start();
        }
      } else {
        drive(s);
      }
    }

    private void start() {
      List<Entry> set = new ArrayList<>();
      for (int n = 1 + random.nextInt(3); n > 0; n--) {
        byte[] key = key(random.nextInt(KEYS)).bytes();
        if (set.stream().noneMatch(e -> java.util.Arrays.equals(e.key(), key))) {
          set.add(new Entry(key, random.nextInt(INSTANCES)));
        }
      }
      versions++;
      pendingTable = table.withPending(new plannerd.sdk.route.Pending(versions, set, List.of(),
          HashConfig.of("modulo").over(IntStream.range(0, INSTANCES).mapToObj(i -> new Node(i, 0)).toList()),
          Routing.WEIGHTED, false));
      List<Integer> all = IntStream.range(0, INSTANCES).boxed().toList();
      pending = new Pending(versions, Map.copyOf(epochs), all, false, executor);
      driver = new Driver(executor);
      assertEquals(List.of(), driver.see(pending));
    }

    /** The driver, or its successor, does something. */
    private void drive(Source s) {
      if (chance(0.02)) { // it crashed: its successor begins with what the service says
        executor++;
        pending = new Pending(pending.version(), pending.routers(), pending.awaits(), pending.aborting(), executor);
        driver = new Driver(executor);
        acked.clear();
        call(driver.see(pending));
      } else if (mode == Mode.HOLDING && chance(0.02)) {
        call(driver.abort());
      } else if (chance(0.03)) { // a lease ran out
        long epoch = register(s.name);
        call(driver.lost(s.name, epoch));
      } else if (random.nextInt(4) == 0) { // it asks again for what may have been lost
        processes.forEach(p -> p.carryOut(p.machine.resume()));
      }
    }

    private final java.util.Set<Integer> acked = new java.util.TreeSet<>();

    void said(Action<Message> a, int instance) {
      if (pending == null || pending.version() != a.version()) {
        return;
      }
      if (a.epoch() < executor) { // it is refused, and said again under the epoch that the refusal names
        processes.get(instance).carryOut(processes.get(instance).machine.fenced(a.version(), executor));
        return;
      }
      call(a.what() == Action.Do.SEND_ACK ? driver.acked(instance, a.version()) : driver.voted(instance, a.version()));
    }

    private void call(List<Driver.Call> calls) {
      for (Driver.Call c : calls) {
        switch (c.what()) {
          case ACK -> {
            acked.add(c.instance());
            if (acked.containsAll(pending.awaits())) {
              tally.committed++;
              end(pendingTable.pending());
            }
          }
          case ABORT -> {
            pending = new Pending(pending.version(), pending.routers(), pending.awaits(), true, executor);
            acked.clear();
            call(driver.see(pending));
          }
          case ROLLED_BACK -> {
            tally.aborted++;
            end(table.changed(++versions, List.of(), List.of()));
          }
          case FENCE -> fence(c);
          default -> throw new IllegalStateException();
        }
      }
    }

    private void end(plannerd.sdk.route.Table next) {
      table = next.withPending(null);
      pending = null;
      pendingTable = null;
      acked.clear();
      assertNull(driver.see(null));
    }

    private void fence(Driver.Call c) {
      tally.fenced++;
      int r = Integer.parseInt(c.router());
      for (int to : c.to()) {
        append(r, new Append<>(to, c.routerEpoch(), c.version(), null, null));
      }
    }

    long register(String router) {
      return epochs.merge(router, 1L, Long::sum);
    }

    /** Appends to a channel, unless that has a higher epoch. */
    boolean append(int r, Append<Message> a) {
      if (a.epoch() < highest[r][a.to()]) {
        return false;
      }
      highest[r][a.to()] = a.epoch();
      channels.get(r).get(a.to()).add(new Read<>(Integer.toString(r), a.epoch(), a.marker(), a.key(), a.message()));
      return true;
    }

    private void check() {
      for (int k = 0; k < KEYS; k++) {
        Key key = key(k);
        int at = table.lookup(key.bytes()).instance();
        for (Process p : processes) {
          assertTrue(p.kept.isEmpty() && p.provisional.isEmpty());
          Map<String, Long> last = p.active.get(key);
          if (p.id != at) {
            assertNull(last, key + " is at " + p.id + ", and the table says " + at);
            continue;
          }
          for (Source s : sources) {
            long want = s.numbers.getOrDefault(key, 0L);
            assertEquals(want, last == null ? 0L : last.getOrDefault(s.name, 0L), key + " of " + s.name);
          }
        }
      }
    }
  }

  static Key key(int k) {
    return Key.of("key-" + k);
  }

  /** A source with its router. */
  private static final class Source {
    final World world;
    final int index;
    final String name;
    final Map<Key, Long> numbers = new HashMap<>();
    final List<Message> open = new ArrayList<>(); // made, and not appended yet
    final List<Message> recent = new ArrayList<>(); // appended not long ago
    Router<Message> machine;
    boolean registered;

    Source(World world, int index) {
      this.world = world;
      this.index = index;
      name = Integer.toString(index);
      restart();
    }

    /** Begins anew, with what may not have been appended. */
    void restart() {
      machine = new Router<>(world.mode);
      registered = false;
      register();
      List<Message> again = new ArrayList<>(recent);
      again.addAll(open);
      open.clear();
      world.tally.repeated += recent.size();
      recent.clear();
      again.forEach(this::take);
    }

    private void register() {
      machine.registered(world.register(name));
      registered = true;
      append(machine.see(world.view()));
    }

    void step() {
      if (!registered) {
        register();
      } else if (world.chance(0.01)) {
        restart();
      } else if (world.quiet || world.random.nextInt(4) == 0) {
        append(machine.see(world.view()));
      } else {
        Key key = key(world.random.nextInt(KEYS));
        take(new Message(key, numbers.merge(key, 1L, Long::sum)));
      }
    }

    private void take(Message m) {
      if (!registered) {
        register();
      }
      open.add(m);
      Append<Message> a = machine.take(m.key(), m);
      if (a != null) {
        append(List.of(a));
      }
    }

    private void append(List<Append<Message>> list) {
      for (int i = 0; i < list.size(); i++) {
        Append<Message> a = list.get(i);
        if (!world.append(index, a)) {
          machine.refused(list.subList(i, list.size()));
          registered = false;
          register();
          return;
        }
        if (a.marker() == 0) {
          open.remove(a.message());
          recent.add(a.message());
          if (recent.size() > 3) {
            recent.remove(0);
          }
        }
      }
    }
  }

  /** An instance with the states of its keys: the last number of each source. */
  private static final class Process {
    final World world;
    final int id;
    Instance<Message> machine;
    final TreeMap<Key, Map<String, Long>> active = new TreeMap<>();
    final Map<Key, Map<String, Long>> kept = new HashMap<>();
    final Map<Key, Map<String, Long>> provisional = new HashMap<>();
    // States on their way: what is sent are their indices.
    static final List<Map<String, Long>> SENT = new ArrayList<>();

    Process(World world, int id) {
      this.world = world;
      this.id = id;
      machine = new Instance<>(id, world.mode, new Durable<>());
    }

    void see() {
      carryOut(machine.see(world.view()));
    }

    void readOne(int router) {
      Deque<Read<Message>> channel = world.channels.get(router).get(id);
      if (channel.isEmpty()) {
        return;
      }
      int parked = machine.durable().doing == null ? 0 : machine.durable().doing.parked.size();
      List<Action<Message>> actions = machine.read(channel.peek());
      if (actions != null) {
        channel.poll();
        if (machine.durable().doing != null) {
          world.tally.parked += Math.max(0, machine.durable().doing.parked.size() - parked);
        }
        carryOut(actions);
      }
    }

    void receiveOne(int from) {
      Deque<Transfer> queue = world.transfers.get(from).get(id);
      if (queue.isEmpty()) {
        return;
      }
      List<Action<Message>> actions = machine.receive(queue.peek());
      if (actions != null) {
        Transfer t = queue.poll();
        if (world.chance(0.05)) {
          queue.addFirst(t); // it comes twice
        }
        carryOut(actions);
      }
    }

    void carryOut(List<Action<Message>> actions) {
      boolean crashes = world.chance(0.03);
      for (Action<Message> a : actions) {
        switch (a.what()) {
          case PROCESS -> process(a);
          case IMPORT -> provisional.put(a.transfer().key(), new HashMap<>(SENT.get(index(a.transfer().state()))));
          case EXPORT -> export(crashes);
          case ACTIVATE -> a.keys().forEach(k -> active.put(k, joined(kept.remove(k), active.get(k))));
          case KEEP -> a.keys().forEach(k -> active.put(k, joined(provisional.remove(k), active.get(k))));
          case FORGET -> a.keys().forEach(kept::remove);
          case DROP -> a.keys().forEach(provisional::remove);
          default -> {
            if (!crashes) { // else it was durable, and is not sent
              send(a);
            }
          }
        }
      }
      if (crashes) {
        machine = new Instance<>(id, world.mode, machine.durable());
        carryOut(machine.see(world.view()));
        carryOut(machine.resume());
      }
    }

    private void send(Action<Message> a) {
      if (a.what() == Action.Do.SEND_END) {
        world.transfers.get(id).get(a.transfer().to()).add(a.transfer());
      } else {
        world.said(a, id);
      }
    }

    private static Map<String, Long> joined(Map<String, Long> a, Map<String, Long> b) {
      if (b != null) {
        b.forEach((source, n) -> a.merge(source, n, Math::max));
      }
      return a;
    }

    private void export(boolean crashes) {
      List<Transfer> list = machine.exports(new ArrayList<>(active.keySet()), key -> {
        SENT.add(new HashMap<>(active.get(key)));
        return java.nio.ByteBuffer.allocate(4).putInt(SENT.size() - 1).array();
      });
      for (Transfer t : list) {
        world.transfers.get(id).get(t.to()).add(t);
      }
      if (crashes) { // before it was durable: it is exported once more
        return;
      }
      for (Transfer t : list) {
        kept.put(t.key(), active.remove(t.key()));
        world.tally.moved++;
      }
      carryOut(machine.exported(list));
    }

    private static int index(byte[] state) {
      return java.nio.ByteBuffer.wrap(state).getInt();
    }

    private void process(Action<Message> a) {
      Map<String, Long> last = active.get(a.key());
      if (last == null && !a.early()) {
        last = provisional.get(a.key());
      }
      long n = a.message().n();
      if (last == null) {
        assertNull(kept.get(a.key()), a.key() + " comes to " + id + ", which has handed it over");
        last = new HashMap<>();
        active.put(a.key(), last);
      }
      long before = last.getOrDefault(a.router(), 0L);
      if (n <= before) {
        return; // it came again
      }
      assertEquals(before + 1, n, () -> a.key() + " of " + a.router() + " at " + id);
      last.put(a.router(), n);
      world.tally.processed++;
    }
  }
}
