package plannerd.sdk.client;

import java.util.Map;

/**
 * What a key cost in an interval.
 *
 * @param cost in any unit that is the same for all keys, at least 0
 * @param state the size of its state, in any unit, at least 0
 * @param instance where the state is; −1: not said, as the statistics are of one instance or it
 *     is where the table sends the key
 * @param costs what the key takes of resources beside cost, by their names: see resources of
 *     operators; those that are left out are 0
 */
public record Row(byte[] key, double cost, double state, int instance, Map<String, Double> costs) {
  /** A row that takes of no resource but cost. */
  public Row(byte[] key, double cost, double state, int instance) {
    this(key, cost, state, instance, Map.of());
  }

  /** A row that does not say where the key is. */
  public Row(byte[] key, double cost, double state) {
    this(key, cost, state, -1);
  }
}
