package plannerd.sdk.client;

/**
 * What a key cost in an interval.
 *
 * @param cost in any unit that is the same for all keys, at least 0
 * @param state the size of its state, in any unit, at least 0
 * @param instance where the state is; −1: not said, as the statistics are of one instance or it
 *     is where the table sends the key
 */
public record Row(byte[] key, double cost, double state, int instance) {
  /** A row that does not say where the key is. */
  public Row(byte[] key, double cost, double state) {
    this(key, cost, state, -1);
  }
}
