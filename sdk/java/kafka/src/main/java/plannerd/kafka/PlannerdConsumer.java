package plannerd.kafka;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.Deserializer;

/**
 * A consumer that asks for a rebalance when it leads its group and plannerd has another table than
 * the group. An assignor cannot do so by itself: it has no handle on its consumer. Everything else is as
 * in {@link KafkaConsumer}. It looks once in each poll, and asks once in five seconds at most.
 */
public final class PlannerdConsumer<K, V> extends KafkaConsumer<K, V> {
  private final Watch watch;

  /** Returns a consumer with the deserializers of the configurations. */
  public PlannerdConsumer(Map<String, Object> configs) {
    this(configs, null, null);
  }

  /** Returns a consumer with the deserializers of the properties. */
  public PlannerdConsumer(Properties properties) {
    this(map(properties), null, null);
  }

  /** Returns a consumer; deserializers that are null are those of the configurations. */
  public PlannerdConsumer(Map<String, Object> configs, Deserializer<K> keys, Deserializer<V> values) {
    this(configs, Watch.following(configs), keys, values);
  }

  private PlannerdConsumer(Map<String, Object> configs, Watch watch, Deserializer<K> keys, Deserializer<V> values) {
    super(with(configs, watch), keys, values);
    this.watch = watch;
  }

  private static Map<String, Object> map(Properties properties) {
    Map<String, Object> map = new HashMap<>();
    properties.stringPropertyNames().forEach(name -> map.put(name, properties.getProperty(name)));
    properties.forEach((name, value) -> map.put(name.toString(), value));
    return map;
  }

  private static Map<String, Object> with(Map<String, Object> configs, Watch watch) {
    Map<String, Object> all = new HashMap<>(configs);
    all.put(Watch.CONFIG, watch);
    return all;
  }

  @Override
  public ConsumerRecords<K, V> poll(Duration timeout) {
    if (watch.leading() && watch.due(groupMetadata().generationId())) {
      enforceRebalance("plannerd has another table");
    }
    return super.poll(timeout);
  }

  @Override
  public void close() {
    watch.close();
    super.close();
  }

  @Override
  @Deprecated
  public void close(Duration timeout) {
    watch.close();
    super.close(timeout);
  }

  @Override
  public void close(CloseOptions options) {
    watch.close();
    super.close(options);
  }
}
