package plannerd.kafka;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
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

  /** Returns a consumer with the deserializers of the configurations, a map or properties. */
  public PlannerdConsumer(Map<?, ?> configs) {
    this(configs, null, null);
  }

  /** Returns a consumer; deserializers that are null are those of the configurations. */
  public PlannerdConsumer(Map<?, ?> configs, Deserializer<K> keys, Deserializer<V> values) {
    this(Watch.of(configs), configs, keys, values);
  }

  private PlannerdConsumer(Watch watch, Map<?, ?> configs, Deserializer<K> keys, Deserializer<V> values) {
    super(with(configs, watch), keys, values);
    this.watch = watch.follow(() -> groupMetadata().generationId());
  }

  /** Adds the watch to the configurations, from where the assignor has it. */
  private static Map<String, Object> with(Map<?, ?> configs, Watch watch) {
    Map<String, Object> all = new HashMap<>();
    configs.forEach((name, value) -> all.put(name.toString(), value));
    all.put(Watch.CONFIG, watch);
    return all;
  }

  @Override
  public ConsumerRecords<K, V> poll(Duration timeout) {
    if (watch.due()) {
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
