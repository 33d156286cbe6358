package plannerd.sdk.client;

import java.util.List;
import java.util.Map;

/**
 * A plan, as far as carrying it out depends on it.
 *
 * @param status such as "approved", "applying" and "committed"
 * @param awaits the instances that must acknowledge it
 * @param routers the epochs of the routers that were registered when it was started
 * @param version the version of the table that it made; null: it is not committed
 * @param executorEpoch that of who carries it out; null: nobody yet
 */
public record Plan(String id, String operator, String status, List<Integer> awaits, Map<String, Long> routers,
    Long version, Long executorEpoch) {
  /** It may be started. */
  public static final String APPROVED = "approved";
  /** It has ended, and its table is in force. */
  public static final String COMMITTED = "committed";
}
