import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Materialized;
import plannerd.kafka.PlannerdClients;

/**
 * Members on the JVM that work on the topic that is called as their group, until they are killed: consumers of
 * a group of the newer protocol, or a Kafka Streams application that counts keys. The arguments are the kind,
 * the broker, plannerd, the group, how many members, and a folder.
 */
final class Work {
  public static void main(String[] args) {
    for (int i = 0; i < Integer.parseInt(args[4]); i++) {
      String name = "member-" + i;
      Map<String, Object> configs = new HashMap<>(Map.of("bootstrap.servers", args[1], "client.id", name,
          "plannerd.url", args[2], "auto.offset.reset", "earliest"));
      if (args[0].equals("streams")) {
        count(args[3], args[5] + "/" + name, configs);
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

  /** Counts keys. A task whose process is to be another moves at once, and its state is read there. */
  private static void count(String application, String folder, Map<String, Object> configs) {
    configs.putAll(Map.of("application.id", application, "state.dir", folder, "commit.interval.ms", 500,
        "acceptable.recovery.lag", 1_000_000, "task.assignor.class", "plannerd.kafka.PlannerdTaskAssignor",
        "default.key.serde", Serdes.ByteArraySerde.class, "default.value.serde", Serdes.ByteArraySerde.class));
    StreamsBuilder builder = new StreamsBuilder();
    builder.<byte[], byte[]>stream(application).groupByKey().count(Materialized.as("counts"));
    Properties properties = new Properties();
    properties.putAll(configs);
    new KafkaStreams(builder.build(), properties, new PlannerdClients()).start();
  }
}
