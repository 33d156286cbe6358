package plannerd.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class PlannerdAssignorTest {
  private FakePlannerd plannerd;
  private Watch watch = Watch.of(Map.of());

  @BeforeEach
  void start() throws Exception {
    plannerd = new FakePlannerd();
  }

  @AfterEach
  void stop() {
    watch.close();
    plannerd.close();
  }

  private PlannerdAssignor assignor(Map<String, Object> more) {
    Map<String, Object> configs = new HashMap<>(Map.of("group.id", "work", "plannerd.url", plannerd.url(),
        "plannerd.timeout.ms", "10000"));
    configs.putAll(more);
    PlannerdAssignor a = new PlannerdAssignor();
    a.configure(configs);
    return a;
  }

  private int generation = -1; // that the consumer is in

  /** Returns an assignor of a consumer that follows the table. */
  private PlannerdAssignor following() {
    watch = Watch.of(Map.of("group.id", "work", "plannerd.url", plannerd.url(), "plannerd.timeout.ms", "10000"))
        .follow(() -> generation);
    return assignor(Map.of(Watch.CONFIG, watch));
  }

  private void awaitTable(Map<String, String> table) throws InterruptedException {
    while (!watch.table().members().equals(table)) {
      Thread.sleep(5);
    }
  }

  private static Cluster cluster(Map<String, Integer> topics) {
    Node node = new Node(1, "127.0.0.1", 1);
    List<PartitionInfo> all = new ArrayList<>();
    topics.forEach((topic, n) -> {
      for (int p = 0; p < n; p++) {
        all.add(new PartitionInfo(topic, p, node, new Node[] {node}, new Node[] {node}));
      }
    });
    return new Cluster("c", List.of(node), all, Set.of(), Set.of());
  }

  /** A group as its members see it: each gets, revokes what it has no more, and joins again. */
  private static final class World {
    private final Cluster cluster;
    private final Map<String, List<String>> topics = new TreeMap<>(); // by member id
    private final Map<String, Set<TopicPartition>> owned = new TreeMap<>();
    private int generation;
    private int moved;

    World(Map<String, Integer> partitions) {
      cluster = cluster(partitions);
    }

    String join(String client, String... subscribed) {
      String id = client + "-" + new UUID(7, topics.size());
      topics.put(id, List.of(subscribed));
      owned.put(id, Set.of());
      return id;
    }

    void leave(String id) {
      topics.remove(id);
      owned.remove(id);
    }

    /** One rebalance; reports whether members that revoked something ask for the next. */
    boolean round(PlannerdAssignor assignor) {
      Map<String, Subscription> in = new HashMap<>();
      topics.forEach((id, t) -> in.put(id, new Subscription(t, null, List.copyOf(owned.get(id)), generation,
          Optional.empty())));
      Map<String, Assignment> out = assignor.assign(cluster, new GroupSubscription(in)).groupAssignment();
      assertEquals(topics.keySet(), out.keySet());
      generation++;
      boolean revoked = false;
      Set<TopicPartition> before = new HashSet<>();
      owned.values().forEach(before::addAll);
      Map<String, Set<TopicPartition>> next = new TreeMap<>();
      Set<TopicPartition> all = new HashSet<>();
      for (String id : topics.keySet()) {
        Set<TopicPartition> has = new HashSet<>(out.get(id).partitions());
        for (TopicPartition p : has) {
          assertTrue(all.add(p), p + " is given to two");
          assertTrue(topics.get(id).contains(p.topic()), p + " is given to who does not subscribe");
          boolean isNew = !owned.get(id).contains(p);
          assertFalse(isNew && before.contains(p), p + " is given away before it is revoked");
          moved += isNew ? 1 : 0;
        }
        revoked |= !has.containsAll(owned.get(id));
        next.put(id, has);
      }
      owned.clear();
      owned.putAll(next);
      return revoked;
    }

    /** Rebalances until nothing is revoked. */
    World settle(PlannerdAssignor assignor) {
      for (int i = 0; round(assignor); i++) {
        assertTrue(i < 5, "it does not settle");
      }
      return this;
    }

    /** Who has what, by client id. */
    Map<String, String> owners() {
      Map<String, String> out = new TreeMap<>();
      owned.forEach((id, set) -> set.forEach(p -> out.put(p.topic() + "/" + p.partition(), Names.clientId(id))));
      return out;
    }

    List<Integer> sizes() {
      return owned.values().stream().map(Set::size).sorted().toList();
    }
  }

  private static World three() {
    World w = new World(Map.of("t", 6));
    List.of("a", "b", "c").forEach(name -> w.join(name, "t"));
    return w;
  }

  private static final Map<String, String> TABLE =
      new TreeMap<>(Map.of("t/0", "a", "t/1", "a", "t/2", "a", "t/3", "a", "t/4", "b", "t/5", "c"));

  @Test
  void goesByTable() {
    plannerd.commit(TABLE);
    assertEquals(TABLE, three().settle(assignor(Map.of())).owners());
  }

  @Test
  void movesWhatTableMovesAndNothingElse() {
    plannerd.commit(TABLE);
    PlannerdAssignor a = assignor(Map.of());
    World w = three().settle(a);
    Map<String, String> next = new TreeMap<>(TABLE);
    next.put("t/0", "b");
    next.put("t/5", "a");
    plannerd.hand(TABLE, next, "handing_over");
    w.moved = 0;
    assertEquals(next, w.settle(a).owners());
    assertEquals(2, w.moved);
    plannerd.hand(TABLE, next, "aborting");
    assertEquals(TABLE, w.settle(a).owners());
  }

  /** Whatever the server does before anybody knew a table, the group works by number and is sticky. */
  @ParameterizedTest
  @EnumSource(value = FakePlannerd.Mood.class, mode = EnumSource.Mode.EXCLUDE, names = "WELL")
  void awayFromTheBeginning(FakePlannerd.Mood mood) {
    plannerd.commit(TABLE);
    plannerd.is(mood);
    PlannerdAssignor a = assignor(Map.of("plannerd.timeout.ms", "100"));
    World w = three().settle(a);
    assertEquals(List.of(2, 2, 2), w.sizes());
    w.moved = 0;
    w.settle(a);
    assertEquals(0, w.moved);
    w.join("d", "t");
    assertEquals(List.of(1, 1, 2, 2), w.settle(a).sizes());
    assertEquals(1, w.moved, "one is enough");
  }

  /** Whatever the server does later, the last table counts, members come and go. */
  @ParameterizedTest
  @EnumSource(value = FakePlannerd.Mood.class, mode = EnumSource.Mode.EXCLUDE, names = "WELL")
  void awayLater(FakePlannerd.Mood mood) {
    plannerd.commit(TABLE);
    PlannerdAssignor a = following();
    World w = three().settle(a);
    plannerd.is(mood);
    w.moved = 0;
    assertEquals(TABLE, w.settle(a).owners());
    assertEquals(0, w.moved);
    String d = w.join("d", "t");
    w.settle(a);
    assertEquals("c", w.owners().get("t/5"));
    assertTrue(w.owners().containsValue("d"), "who is new works");
    w.leave(d);
    assertEquals(TABLE, w.settle(a).owners());
  }

  /** The server goes between the rebalance that revokes and the one that gives. */
  @ParameterizedTest
  @EnumSource(value = FakePlannerd.Mood.class, mode = EnumSource.Mode.EXCLUDE, names = "WELL")
  void awayBetweenRevokingAndGiving(FakePlannerd.Mood mood) throws Exception {
    plannerd.commit(TABLE);
    PlannerdAssignor a = following();
    World w = three().settle(a);
    Map<String, String> next = new TreeMap<>(TABLE);
    next.put("t/0", "b");
    plannerd.commit(next);
    awaitTable(next);
    assertTrue(w.round(a), "t/0 is revoked");
    assertNull(w.owners().get("t/0"));
    plannerd.is(mood);
    assertEquals(next, w.settle(a).owners());
  }

  @Test
  void nobodyListens() {
    plannerd.close();
    assertEquals(List.of(2, 2, 2), three().settle(assignor(Map.of("plannerd.timeout.ms", "100"))).sizes());
    PlannerdAssignor none = new PlannerdAssignor();
    none.configure(Map.of("group.id", "work"));
    assertEquals(List.of(2, 2, 2), three().settle(none).sizes());
  }

  @Test
  void tableOfAnotherWorld() {
    PlannerdAssignor a = assignor(Map.of());
    plannerd.commit(Map.of("t/0", "x", "t/1", "y"));
    assertEquals(List.of(2, 2, 2), three().settle(a).sizes(), "members that nobody knows");
    plannerd.commit(Map.of("u/0", "a", "t/99", "a", "t", "a", "", "b", "t/-1", "c", "/", "a"));
    assertEquals(List.of(2, 2, 2), three().settle(a).sizes(), "partitions that nobody knows");
    Map<String, Object> answer = new HashMap<>(Map.of("operator", "work", "scheme", "ring", "version", 1));
    plannerd.say(answer);
    assertEquals(List.of(2, 2, 2), three().settle(assignor(Map.of())).sizes(), "another scheme");
    answer.put("scheme", "table");
    plannerd.say(answer);
    assertEquals(List.of(2, 2, 2), three().settle(assignor(Map.of("plannerd.timeout.ms", "100"))).sizes(), "no hash");
    answer.put("operator", "other");
    plannerd.say(answer);
    assertEquals(List.of(2, 2, 2), three().settle(assignor(Map.of("plannerd.timeout.ms", "100"))).sizes(), "other");
  }

  @Test
  void halfOfTableIsOfAnotherWorld() {
    plannerd.commit(Map.of("t/0", "a", "t/1", "a", "t/2", "gone", "v/3", "b"));
    Map<String, String> at = three().settle(assignor(Map.of())).owners();
    assertEquals("a", at.get("t/0"));
    assertEquals("a", at.get("t/1"));
    assertEquals(6, at.size());
  }

  @Test
  void tableIsKeptOverRestarts(@TempDir Path dir) {
    plannerd.commit(TABLE);
    Map<String, Object> file = Map.of("plannerd.table.file", dir.resolve("table").toString(), "client.id", "a");
    three().settle(assignor(file));
    plannerd.is(FakePlannerd.Mood.BREAKS);
    assertEquals(TABLE, three().settle(assignor(file)).owners());
  }

  /** Random groups and tables, in which topics differ, members come and go, and say what they do not have. */
  @Test
  void nothingIsOwnedTwice() throws Exception {
    Random random = new Random(3);
    PlannerdAssignor a = following();
    for (int i = 0; i < 8; i++) {
      World w = new World(Map.of("t", 1 + random.nextInt(9), "u", random.nextInt(5), "v", 3));
      List<String> ids = new ArrayList<>();
      for (int step = 0; step < 6; step++) {
        if (ids.isEmpty() || random.nextInt(3) > 0) {
          ids.add(w.join("m" + i + step, random.nextBoolean() ? new String[] {"t", "u"} : new String[] {"u", "v"}));
        } else {
          w.leave(ids.remove(random.nextInt(ids.size())));
        }
        Map<String, String> table = new TreeMap<>();
        for (int e = 0; e < 8; e++) {
          table.put("tuv".charAt(random.nextInt(3)) + "/" + random.nextInt(9), "m" + i + random.nextInt(6));
        }
        plannerd.commit(table);
        awaitTable(table);
        w.settle(a);
      }
    }
  }

  @Test
  void whoSaysSoLaterHasIt() {
    plannerd.is(FakePlannerd.Mood.KNOWS_NOTHING);
    TopicPartition p = new TopicPartition("t", 0);
    PlannerdAssignor a = assignor(Map.of());
    Map<String, Subscription> in = new HashMap<>();
    in.put("a", new Subscription(List.of("t"), null, List.of(p), 3, Optional.empty()));
    in.put("b", new Subscription(List.of("t"), null, List.of(p), 5, Optional.empty()));
    var out = a.assign(cluster(Map.of("t", 1)), new GroupSubscription(in)).groupAssignment();
    assertEquals(List.of(p), out.get("b").partitions(), "a was away meanwhile");
    in.put("a", new Subscription(List.of("t"), null, List.of(p), 5, Optional.empty()));
    out = a.assign(cluster(Map.of("t", 1)), new GroupSubscription(in)).groupAssignment();
    assertEquals(List.of(), out.get("a").partitions(), "both have to revoke it");
    assertEquals(List.of(), out.get("b").partitions());
  }

  /** The leader's consumer asks once the table wants something else, and for nothing that would change nothing. */
  @Test
  void asksForRebalanceWhereItChangesSomething() throws Exception {
    plannerd.commit(TABLE);
    PlannerdAssignor a = following();
    World w = three();
    assertFalse(watch.due(), "who does not lead does not ask");
    w.settle(a);
    assertFalse(watch.due(), "the rebalance is not over");
    generation++;
    assertFalse(watch.due(), "all is as the table says");
    Map<String, String> more = new TreeMap<>(TABLE);
    more.put("u/0", "b");
    plannerd.commit(more);
    awaitTable(more);
    assertFalse(watch.due(), "a topic of somebody else changes nothing");
    Map<String, String> next = new TreeMap<>(TABLE);
    next.put("t/0", "b");
    plannerd.commit(next);
    awaitTable(next);
    assertTrue(watch.due());
    assertFalse(watch.due(), "it asks once in a while");
    w.settle(a);
    assertEquals(next, w.owners());
    generation++;
    assertFalse(watch.due());
  }

  @Test
  void leadsOnlyByTheLastRebalance() throws Exception {
    plannerd.commit(TABLE);
    PlannerdAssignor a = following();
    three().settle(a);
    generation++;
    assertFalse(watch.due(), "all is as the table says");
    Map<String, String> next = new TreeMap<>(TABLE);
    next.put("t/0", "b");
    plannerd.commit(next);
    awaitTable(next);
    generation++; // by somebody else
    assertFalse(watch.due(), "somebody else leads");
    generation += 2; // of which it was told nothing
    watch.leads(table -> false, false);
    assertFalse(watch.due(), "the rebalance is not over");
    generation++;
    assertTrue(watch.due(), "it leads again");
  }

  /** Where a member that gives something away ends before it has joined again, no rebalance follows by itself. */
  @Test
  void asksForTheRebalanceThatHasToFollow() throws Exception {
    PlannerdAssignor a = following();
    TopicPartition first = new TopicPartition("u", 0);
    TopicPartition second = new TopicPartition("u", 1);
    Map<String, Subscription> in = new HashMap<>();
    in.put("x", new Subscription(List.of("u"), null, List.of(first, second), 3, Optional.empty()));
    in.put("y", new Subscription(List.of("u"), null, List.of(), 3, Optional.empty()));
    var out = a.assign(cluster(Map.of("u", 2)), new GroupSubscription(in)).groupAssignment();
    assertEquals(List.of(), out.get("y").partitions());
    generation++;
    assertFalse(watch.due(), "it may come yet");
    Thread.sleep(5_100);
    assertTrue(watch.due());
    in.put("x", new Subscription(List.of("u"), null, out.get("x").partitions(), 4, Optional.empty()));
    out = a.assign(cluster(Map.of("u", 2)), new GroupSubscription(in)).groupAssignment();
    assertEquals(1, out.get("y").partitions().size());
    generation++;
    Thread.sleep(5_100);
    assertFalse(watch.due(), "all have theirs");
  }

  @Test
  @SuppressWarnings("removal") // applications need not make this object; tests do
  void restartedLeaderIsToldThatItLeads() throws Exception {
    plannerd.commit(TABLE);
    following();
    awaitTable(TABLE);
    PlannerdAssignor a = new PlannerdAssignor();
    a.configure(Map.of("group.instance.id", "one"));
    Map<String, Subscription> in = Map.of("x", new Subscription(List.of("t")));
    GroupSubscription group = new GroupSubscription(in);
    ByteBuffer data = a.assign(cluster(Map.of("t", 1)), group).groupAssignment().get("x").userData();
    PlannerdAssignor next = new PlannerdAssignor();
    next.configure(Map.of(Watch.CONFIG, watch, "group.instance.id", "two"));
    next.onAssignment(new Assignment(List.of(), data), new ConsumerGroupMetadata("work", generation, "x", Optional.empty()));
    assertFalse(watch.due());
    next.configure(Map.of(Watch.CONFIG, watch, "group.instance.id", "one"));
    next.onAssignment(new Assignment(List.of(), data), new ConsumerGroupMetadata("work", generation, "x", Optional.empty()));
    assertTrue(watch.due());
  }

  /** Prints how long a group of 1 000 partitions and 100 members takes. */
  @Test
  void speed() throws Exception {
    World w = new World(Map.of("t", 1000));
    Map<String, String> table = new TreeMap<>();
    Random random = new Random(5);
    for (int m = 0; m < 100; m++) {
      w.join("m" + m, "t");
    }
    PlannerdAssignor byTable = following();
    List<Double> times = new ArrayList<>();
    for (int i = 0; i < 11; i++) {
      for (int p = 0; p < 1000; p++) {
        table.put("t/" + p, "m" + random.nextInt(100));
      }
      plannerd.commit(table);
      awaitTable(table);
      long begin = System.nanoTime();
      w.round(byTable);
      times.add((System.nanoTime() - begin) / 1e6);
      w.settle(byTable);
    }
    PlannerdAssignor byNumber = new PlannerdAssignor();
    byNumber.configure(Map.of());
    long begin = System.nanoTime();
    w.round(byNumber);
    double number = (System.nanoTime() - begin) / 1e6;
    System.out.printf("1000 partitions, 100 members: by a table first %.1f ms, median %.1f ms; by number %.1f ms%n",
        times.get(0), times.stream().sorted().skip(5).findFirst().orElseThrow(), number);
  }
}
