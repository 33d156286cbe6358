package plannerd.kafka;

import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import plannerd.sdk.client.RoutingTable;
import plannerd.sdk.route.Table;
import plannerd.sdk.router.View;

/**
 * Where a table wants keys to be: the committed table, or that of a plan that is being handed over.
 *
 * @param members the names of members by keys
 * @param names of all members that the table knows
 */
record Placement(Map<String, String> members, Set<String> names) {
  /** Places nothing and knows nobody. */
  static final Placement NONE = new Placement(Map.of(), Set.of());

  static Placement of(View view) {
    boolean pending = view.pending() != null && !RoutingTable.Pending.ABORTING.equals(view.pending().phase());
    Table table = pending ? view.table().pending() : view.table();
    Map<String, String> members = new HashMap<>();
    table.forEach(e -> {
      String name = view.names().get(e.instance());
      if (e.parts() == null && name != null) {
        members.put(new String(e.key(), StandardCharsets.UTF_8), name);
      }
    });
    return new Placement(members, new HashSet<>(view.names().values()));
  }
}
