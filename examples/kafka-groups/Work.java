import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.processor.api.FixedKeyProcessor;
import org.apache.kafka.streams.processor.api.FixedKeyProcessorContext;
import org.apache.kafka.streams.processor.api.FixedKeyRecord;
import org.apache.kafka.streams.processor.internals.DefaultKafkaClientSupplier;
import plannerd.kafka.PlannerdClients;

/**
 * Members on the JVM that work on the topic that is called as their group, until they are killed: consumers of
 * a group of the newer protocol, or processes of a Kafka Streams application that counts keys. The arguments are
 * the kind, the broker, plannerd, the group, how many members, and a folder; of Kafka Streams also the class that
 * assigns tasks, or nothing for its default, and how many nanoseconds a message takes.
 *
 * <p>A process of Kafka Streams tells on a line what it does: what it is, its number, a partition, and two numbers
 * more: "has" and "lost" for a task, "done" for a message that has the time in it at which it was sent, with its
 * offset and that time, and "rebalanced".
 */
final class Work {
  private static final PrintStream OUT = new PrintStream(System.out, true);

  public static void main(String[] args) {
    for (int i = 0; i < Integer.parseInt(args[4]); i++) {
      String name = "member-" + i;
      Map<String, Object> configs = new HashMap<>(Map.of("bootstrap.servers", args[1], "client.id", name,
          "plannerd.url", args[2], "auto.offset.reset", "earliest"));
      if (args[0].equals("streams")) {
        configs.putAll(Map.of("application.id", args[3], "state.dir", args[5] + "/" + name));
        count(args[3], i, args[6], Long.parseLong(args[7]), configs);
      } else {
        configs.putAll(Map.of("group.id", args[3], "group.protocol", "consumer", "group.remote.assignor", "plannerd",
            "group.instance.id", name));
        new Thread(() -> consume(args[3], configs)).start();
      }
    }
  }

  private static void consume(String group, Map<String, Object> configs) {
    var bytes = new ByteArrayDeserializer();
    try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(configs, bytes, bytes)) {
      consumer.subscribe(List.of(group));
      while (true) {
        consumer.poll(Duration.ofSeconds(1));
      }
    }
  }

  private static synchronized void tell(String what, int member, int partition, long offset, long sent) {
    OUT.println(what + " " + member + " " + partition + " " + offset + " " + sent);
  }

  /** Counts keys. A task whose process is to be another moves at once, and its state is read there. */
  private static void count(String topic, int member, String assignor, long each, Map<String, Object> configs) {
    configs.putAll(Map.of("commit.interval.ms", 500, "heartbeat.interval.ms", 500, "max.poll.records", 50,
        "acceptable.recovery.lag", 1_000_000, "default.key.serde", Serdes.ByteArraySerde.class,
        "default.value.serde", Serdes.ByteArraySerde.class));
    if (!assignor.isEmpty()) {
      configs.put("task.assignor.class", assignor);
    }
    long[] free = {System.nanoTime()};
    StreamsBuilder builder = new StreamsBuilder();
    builder.<byte[], byte[]>stream(topic).processValues(() -> new Timed(member, each, free)).groupByKey()
        .count(Materialized.as("counts"));
    Properties properties = new Properties();
    properties.putAll(configs);
    boolean follows = assignor.startsWith("plannerd");
    KafkaStreams streams = new KafkaStreams(builder.build(), properties,
        follows ? new PlannerdClients() : new DefaultKafkaClientSupplier());
    streams.setStateListener((now, before) -> {
      if (member == 0 && now == KafkaStreams.State.REBALANCING) {
        tell("rebalanced", member, 0, 0, 0);
      }
    });
    streams.start();
  }

  /** Takes some time for each message that has a time in it. What a pause takes longer than it should is made up. */
  private static final class Timed implements FixedKeyProcessor<byte[], byte[], byte[]> {
    private final int member;
    private final long each;
    private final long[] free; // from when on the process has nothing to do; its tasks share it, and its thread
    private FixedKeyProcessorContext<byte[], byte[]> context;

    Timed(int member, long each, long[] free) {
      this.member = member;
      this.each = each;
      this.free = free;
    }

    @Override
    public void init(FixedKeyProcessorContext<byte[], byte[]> of) {
      context = of;
      tell("has", member, of.taskId().partition(), 0, 0);
    }

    @Override
    public void process(FixedKeyRecord<byte[], byte[]> message) {
      context.forward(message);
      if (message.value().length < Long.BYTES) {
        return;
      }
      long now = System.nanoTime();
      free[0] = (now - free[0] > 50_000_000 ? now : free[0]) + each;
      while (free[0] - now > 2_000_000) {
        LockSupport.parkNanos(free[0] - now);
        now = System.nanoTime();
      }
      context.recordMetadata().ifPresent(at ->
          tell("done", member, at.partition(), at.offset(), ByteBuffer.wrap(message.value()).getLong()));
    }

    @Override
    public void close() {
      tell("lost", member, context.taskId().partition(), 0, 0);
    }
  }
}
