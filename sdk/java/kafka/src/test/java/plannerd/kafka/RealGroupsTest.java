package plannerd.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.IntFunction;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.ThreadMetadata;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Groups on a real broker follow a table. */
class RealGroupsTest {
  private static final int PARTITIONS = 12;

  @TempDir
  static Path dir;
  private static FakePlannerd plannerd;
  private static Broker broker;
  private static Admin admin;

  @BeforeAll
  static void start() throws Exception {
    plannerd = new FakePlannerd();
    broker = new Broker(dir, Map.of("group.consumer.assignors", PlannerdGroupAssignor.class.getName() + ",uniform",
        "plannerd.url", plannerd.url(), "plannerd.operators", "other, work"));
    admin = Admin.create(Map.of("bootstrap.servers", broker.address));
  }

  @AfterAll
  static void stop() {
    admin.close();
    broker.close();
    plannerd.close();
  }

  private static void topic(String name) throws Exception {
    admin.createTopics(List.of(new NewTopic(name, PARTITIONS, (short) 1))).all().get(20, TimeUnit.SECONDS);
  }

  private static void until(String what, BooleanSupplier so) throws InterruptedException {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    while (!so.getAsBoolean()) {
      if (System.nanoTime() > end) {
        fail("it does not come to this: " + what);
      }
      Thread.sleep(20);
    }
  }

  /** Every partition of a topic at the member that a function of its number names. */
  private static Map<String, String> table(String topic, IntFunction<String> member) {
    Map<String, String> out = new TreeMap<>();
    for (int p = 0; p < PARTITIONS; p++) {
      out.put(topic + "/" + p, member.apply(p));
    }
    return out;
  }

  /** Consumers of a group, and who owns what by what they are told. */
  private static final class Members implements AutoCloseable {
    private final Map<String, String> owners = new ConcurrentHashMap<>();
    private final Set<String> twice = ConcurrentHashMap.newKeySet();
    private final Map<String, Integer> moved = new ConcurrentHashMap<>();
    private final List<Thread> threads = new ArrayList<>();
    private final List<Member> members = new ArrayList<>();

    private final class Member implements Runnable, ConsumerRebalanceListener {
      private final String name;
      private final KafkaConsumer<byte[], byte[]> consumer;
      private volatile boolean stopped;

      Member(String name, KafkaConsumer<byte[], byte[]> consumer, String topic) {
        this.name = name;
        this.consumer = consumer;
        consumer.subscribe(List.of(topic), this);
      }

      @Override
      public void run() {
        try (consumer) {
          while (!stopped) {
            consumer.poll(Duration.ofMillis(50));
          }
        }
      }

      @Override
      public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        for (TopicPartition p : partitions) {
          String other = owners.putIfAbsent(p.topic() + "/" + p.partition(), name);
          if (other != null) {
            twice.add(p + " of " + other + " is given to " + name);
          }
          moved.merge(p.topic() + "/" + p.partition(), 1, Integer::sum);
        }
      }

      @Override
      public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        partitions.forEach(p -> owners.remove(p.topic() + "/" + p.partition(), name));
      }
    }

    void join(String name, KafkaConsumer<byte[], byte[]> consumer, String topic) {
      Member m = new Member(name, consumer, topic);
      members.add(m);
      threads.add(new Thread(m, name));
      threads.get(threads.size() - 1).start();
    }

    void leave(int member) {
      members.get(member).stopped = true;
      try {
        threads.get(member).join();
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }

    @Override
    public void close() {
      for (int m = 0; m < members.size(); m++) {
        leave(m);
      }
    }
  }

  private static Map<String, Object> configs(String group, String name, Map<String, Object> more) {
    Map<String, Object> c = new HashMap<>(Map.of("bootstrap.servers", broker.address, "group.id", group,
        "client.id", name, "heartbeat.interval.ms", 200, "plannerd.url", plannerd.url(),
        "plannerd.operator", "work", "key.deserializer", ByteArrayDeserializer.class,
        "value.deserializer", ByteArrayDeserializer.class));
    c.putAll(more);
    if ("consumer".equals(more.get("group.protocol"))) {
      c.remove("heartbeat.interval.ms"); // the broker says
    }
    return c;
  }

  @Test
  void classicGroupFollowsTable() throws Exception {
    topic("classic");
    Map<String, String> first = table("classic", p -> p < 10 ? "a" : p < 11 ? "b" : "c");
    plannerd.commit(first);
    try (Members group = new Members()) {
      for (String name : List.of("a", "b", "c")) {
        group.join(name, new PlannerdConsumer<>(configs("classic", name,
            Map.of("partition.assignment.strategy", PlannerdAssignor.class.getName()))), "classic");
      }
      until("the first table", () -> group.owners.equals(first));
      group.moved.clear();
      Map<String, String> second = table("classic", p -> p < 2 ? "c" : first.get("classic/" + p));
      plannerd.hand(first, second, "handing_over");
      until("the table of the plan", () -> group.owners.equals(second));
      assertEquals(Map.of("classic/0", 1, "classic/1", 1), group.moved, "nothing else moves");
      plannerd.is(FakePlannerd.Mood.FAILS);
      group.leave(0); // whoever leads then has to know the table without the server
      until("all have an owner", () -> group.owners.size() == PARTITIONS
          && Set.copyOf(group.owners.values()).equals(Set.of("b", "c")));
      assertEquals("b", group.owners.get("classic/10"));
      assertEquals("c", group.owners.get("classic/11"));
      Map<String, String> third = table("classic", p -> p < 3 ? "b" : "c");
      plannerd.commit(third);
      plannerd.is(FakePlannerd.Mood.WELL);
      until("the table after the server is back", () -> group.owners.equals(third));
      assertEquals(Set.of(), group.twice, "partitions owned twice");
    } finally {
      plannerd.is(FakePlannerd.Mood.WELL);
    }
  }

  /** A leader with an instance id that is restarted in time leads on without being asked to assign. */
  @Test
  void restartedLeaderFollowsTable() throws Exception {
    topic("restarted");
    Map<String, String> first = table("restarted", p -> "one");
    plannerd.commit(first);
    Map<String, Object> configs = configs("restarted", "x", Map.of("group.instance.id", "one",
        "partition.assignment.strategy", PlannerdAssignor.class.getName()));
    try (Members group = new Members()) {
      group.join("one", new PlannerdConsumer<>(configs), "restarted");
      until("the first table", () -> group.owners.equals(first));
      group.join("two", new PlannerdConsumer<>(configs("restarted", "y", Map.of("group.instance.id", "two",
          "partition.assignment.strategy", PlannerdAssignor.class.getName()))), "restarted");
      until("the second works", () -> group.owners.containsValue("two"));
      group.leave(0);
      group.owners.values().removeIf("one"::equals);
      group.join("one", new PlannerdConsumer<>(configs), "restarted");
      until("the first is back", () -> group.owners.containsValue("one"));
      Map<String, String> second = table("restarted", p -> p == 5 ? "one" : "two");
      plannerd.commit(second);
      until("the second table", () -> group.owners.equals(second));
      assertEquals(Set.of(), group.twice, "partitions owned twice");
    }
  }

  @Test
  void groupOfNewProtocolFollowsTable() throws Exception {
    topic("next");
    Map<String, String> first = table("next", p -> p < 10 ? "a" : p < 11 ? "b" : "c");
    plannerd.commit(first);
    Map<String, Object> remote = Map.of("group.protocol", "consumer", "group.remote.assignor", "plannerd");
    try (Members group = new Members()) {
      for (String name : List.of("a", "b", "c")) {
        Map<String, Object> more = new HashMap<>(remote);
        more.put("group.instance.id", name);
        group.join(name, new KafkaConsumer<>(configs("next", name, more)), "next");
      }
      nudge("next", remote, () -> group.owners.equals(first));
      group.moved.clear();
      Map<String, String> second = table("next", p -> p < 2 ? "c" : first.get("next/" + p));
      plannerd.commit(second);
      nudge("next", remote, () -> group.owners.equals(second));
      assertEquals(Map.of("next/0", 1, "next/1", 1), group.moved, "nothing else moves");
      assertEquals(Set.of(), group.twice, "partitions owned twice");
    }
  }

  /** Has the coordinator assign anew as the controller does, until the group is as it should be. */
  private static void nudge(String group, Map<String, Object> remote, BooleanSupplier so) throws Exception {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    while (!so.getAsBoolean()) {
      assertTrue(System.nanoTime() < end, "the group does not follow the table");
      Map<String, Object> more = new HashMap<>(remote);
      more.put("group.instance.id", PlannerdGroupAssignor.CONTROLLER);
      KafkaConsumer<byte[], byte[]> c = new KafkaConsumer<>(configs(group, "controller", more));
      c.subscribe(List.of(group));
      for (int i = 0; i < 40 && !so.getAsBoolean(); i++) {
        assertTrue(c.poll(Duration.ofMillis(50)).isEmpty() && c.assignment().isEmpty(), "the controller has work");
      }
      c.close(CloseOptions.groupMembershipOperation(CloseOptions.GroupMembershipOperation.LEAVE_GROUP));
    }
  }

  @Test
  void streamsFollowTable(@TempDir Path states) throws Exception {
    topic("words");
    try (KafkaProducer<byte[], byte[]> p = new KafkaProducer<>(Map.of("bootstrap.servers", broker.address),
        new ByteArraySerializer(), new ByteArraySerializer())) {
      for (int i = 0; i < 1200; i++) {
        p.send(new ProducerRecord<>("words", i % PARTITIONS, new byte[] {(byte) i}, new byte[] {1}));
      }
    }
    Map<String, String> first = new HashMap<>();
    for (int t = 0; t < PARTITIONS; t++) {
      first.put("0_" + t, t < 9 ? "s0" : "s1");
    }
    plannerd.commit(first);
    List<KafkaStreams> applications = new ArrayList<>();
    try {
      for (int i = 0; i < 2; i++) {
        StreamsBuilder b = new StreamsBuilder();
        b.<byte[], byte[]>stream("words").groupByKey().count();
        applications.add(new KafkaStreams(b.build(), streams("s" + i, states.resolve("s" + i)), new PlannerdClients()));
        applications.get(i).start();
      }
      until("the first table", () -> tasks(applications).equals(first));
      Map<String, String> second = new HashMap<>(first);
      second.put("0_0", "s1");
      second.put("0_1", "s1");
      plannerd.commit(second);
      until("the second table", () -> tasks(applications).equals(second));
    } finally {
      applications.forEach(a -> a.close(Duration.ofSeconds(20)));
    }
  }

  private static Properties streams(String name, Path states) {
    Properties p = new Properties();
    p.putAll(Map.of("application.id", "words", "client.id", name, "bootstrap.servers", broker.address,
        "state.dir", states.toString(), "num.stream.threads", 2, "commit.interval.ms", 100,
        "heartbeat.interval.ms", 200));
    p.putAll(Map.of("task.assignor.class", PlannerdTaskAssignor.class.getName(), "plannerd.url", plannerd.url(),
        "plannerd.operator", "work", "default.key.serde", Serdes.ByteArraySerde.class,
        "default.value.serde", Serdes.ByteArraySerde.class));
    return p;
  }

  private static Map<String, String> tasks(List<KafkaStreams> applications) {
    Map<String, String> out = new HashMap<>();
    for (int i = 0; i < applications.size(); i++) {
      for (ThreadMetadata t : applications.get(i).metadataForLocalThreads()) {
        for (var task : t.activeTasks()) {
          String other = out.put(task.taskId().toString(), "s" + i);
          out.merge("twice", "", (a, b) -> a);
          if (other == null) {
            out.remove("twice");
          }
        }
      }
    }
    return out;
  }
}
