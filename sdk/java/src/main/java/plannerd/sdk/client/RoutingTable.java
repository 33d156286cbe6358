package plannerd.sdk.client;

import java.util.List;
import java.util.Map;
import plannerd.sdk.route.HashConfig;
import plannerd.sdk.route.Node;
import plannerd.sdk.route.Part;
import plannerd.sdk.route.Placement;

/**
 * A routing table, or what has changed of one, as the feed of the server tells it. What is not
 * there is null.
 *
 * @param keyEncoding "base64": keys are written so; null: they are written as they are
 * @param fromVersion the version that set and unset change; null: this is the whole table
 * @param full whether this is the whole table all the same
 * @param configVersion the version of the configuration that the table pins
 * @param placement rules of which instances may have which keys; null: there are none
 * @param routing how parts of split keys are chosen; null stands for "weighted"
 * @param entries of the whole table
 * @param set entries that are new or other since
 * @param unset keys whose entries are gone since
 * @param pending the plan that is being carried out; null: none
 */
public record RoutingTable(String operator, String scheme, String keyEncoding, long version, String origin,
    Long fromVersion, Boolean full, long configVersion, HashConfig hash, Placement placement, String routing,
    List<Node> instances, List<Entry> entries, List<Entry> set, List<String> unset, Pending pending) {
  /** Reports whether this is the whole table. */
  public boolean isWhole() {
    return fromVersion == null || Boolean.TRUE.equals(full);
  }

  /** An entry, as {@link plannerd.sdk.route.Entry}. */
  public record Entry(String key, int instance, List<Part> parts) {}

  /**
   * The plan that is being carried out.
   *
   * @param plan its id
   * @param batch the batch of it that is handed over, from 1
   * @param version the version of the table that it makes
   * @param phase "handing_over" or "aborting"
   * @param routers the epochs of the routers whose markers instances wait for
   * @param awaits the instances that have to acknowledge
   */
  public record Pending(String plan, long batch, long version, long configVersion, String phase, String executor,
      long executorEpoch, Map<String, Long> routers, List<Integer> awaits, HashConfig hash,
      Placement placement, String routing, List<Node> instances, List<Entry> set, List<String> unset) {
    /** No acknowledgement counts any more, and each of {@link #awaits} has to go back. */
    public static final String ABORTING = "aborting";

    /** Returns the same without the lists of changes. */
    public Pending withoutLists() {
      return new Pending(plan, batch, version, configVersion, phase, executor, executorEpoch, routers, awaits, hash,
          placement, routing, instances, null, null);
    }
  }
}
