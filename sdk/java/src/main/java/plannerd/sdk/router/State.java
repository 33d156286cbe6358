package plannerd.sdk.router;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import plannerd.sdk.client.RoutingTable;
import plannerd.sdk.route.Entry;
import plannerd.sdk.route.HashConfig;
import plannerd.sdk.route.Node;
import plannerd.sdk.route.Pending;
import plannerd.sdk.route.Placement;
import plannerd.sdk.route.Routing;
import plannerd.sdk.route.Table;

/** A table and all that came with it. */
record State(Table table, String origin, long configVersion, HashConfig hash, Placement placement,
    String routing, List<Node> instances, RoutingTable.Pending pending) {
  static final State NONE = new State(null, null, 0, null, null, null, null, null);

  View view(boolean kept) {
    return new View(table, origin, configVersion, pending == null ? null : pending.withoutLists(), names(), kept);
  }

  /** Names of the instances by their ids, those that the pending plan adds included. */
  private Map<Integer, String> names() {
    Map<Integer, String> names = new HashMap<>();
    for (List<Node> list : pending == null ? List.of(instances) : List.of(pending.instances(), instances)) {
      list.stream().filter(n -> n.name() != null).forEach(n -> names.put(n.id(), n.name()));
    }
    return Map.copyOf(names);
  }

  /**
   * Returns the state after an answer: a whole table, or what has changed of this one.
   *
   * @throws IllegalArgumentException if the answer does not fit
   */
  State apply(RoutingTable a, String router) {
    if (!"table".equals(a.scheme())) {
      throw new SchemeException("the operator has no routing table, but the scheme " + a.scheme());
    }
    boolean isNew = a.hash() != null && a.instances() != null;
    HashConfig nextHash = isNew ? a.hash() : hash;
    Placement by = isNew ? a.placement() : placement;
    List<Node> over = isNew ? a.instances() : instances;
    if (nextHash == null) {
      throw new IllegalArgumentException("the table comes without its hash");
    }
    boolean base64 = "base64".equals(a.keyEncoding());
    Table next;
    if (a.isWhole()) {
      List<Entry> all = new ArrayList<>(entries(a.entries(), base64));
      all.addAll(entries(a.set(), base64));
      next = Table.of(a.version(), Placement.over(nextHash, over, by), all, router);
    } else if (table == null || table.version() != a.fromVersion()) {
      String since = "changes since version " + a.fromVersion();
      throw new IllegalArgumentException(since + ", which is not the one that there is");
    } else {
      next = table.changed(a.version(), entries(a.set(), base64), keys(a.unset(), base64));
    }
    if (next.routing() != Routing.of(a.routing())) {
      next = next.withRouting(Routing.of(a.routing()));
    }
    next = next.withPending(pendingRoutes(a.pending(), nextHash, over, by, base64));
    return new State(next, a.origin(), a.configVersion(), nextHash, by, a.routing(), over, a.pending());
  }

  private static Pending pendingRoutes(RoutingTable.Pending p, HashConfig now, List<Node> instances, Placement by,
      boolean base64) {
    if (p == null) {
      return null;
    }
    boolean rehashed = !HashConfig.same(now, instances, p.hash(), p.instances()) || !Objects.equals(by, p.placement());
    return new Pending(p.version(), entries(p.set(), base64), keys(p.unset(), base64), 
        Placement.over(p.hash(), p.instances(), p.placement()), Routing.of(p.routing()), rehashed);
  }

  /** The state as an answer that has all of it. */
  RoutingTable whole(String operator) {
    List<RoutingTable.Entry> all = new ArrayList<>();
    Base64.Encoder base64 = Base64.getEncoder();
    table.forEach(e -> all.add(new RoutingTable.Entry(base64.encodeToString(e.key()), e.instance(), e.parts())));
    return new RoutingTable(operator, "table", "base64", table.version(), origin, null, null, configVersion, hash,
        placement, routing, instances, all, null, null, pending);
  }

  private static List<Entry> entries(List<RoutingTable.Entry> list, boolean base64) {
    return list == null ? List.of()
        : list.stream().map(e -> new Entry(key(e.key(), base64), e.instance(), e.parts())).toList();
  }

  private static List<byte[]> keys(List<String> list, boolean base64) {
    return list == null ? List.of() : list.stream().map(k -> key(k, base64)).toList();
  }

  private static byte[] key(String text, boolean base64) {
    return base64 ? Base64.getDecoder().decode(text) : text.getBytes(StandardCharsets.UTF_8);
  }

  /** The operator has another scheme than a routing table, and always will. */
  static final class SchemeException extends IllegalArgumentException {
    SchemeException(String message) {
      super(message);
    }
  }
}
