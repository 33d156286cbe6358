package plannerd.sdk.route;

import java.util.List;

/**
 * One line of a routing table.
 *
 * @param key the bytes of the key, which must not be changed
 * @param instance where the key goes; of a split key that of its heaviest part
 * @param parts where a split key goes: ids ascending, two at least, weights that sum up to
 *     {@link Part#UNITS}; null: the key is whole
 */
public record Entry(byte[] key, int instance, List<Part> parts) {
  /** The entry of a key that is whole. */
  public Entry(byte[] key, int instance) {
    this(key, instance, null);
  }
}
