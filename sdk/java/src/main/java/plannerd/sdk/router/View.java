package plannerd.sdk.router;

import java.util.Map;
import plannerd.sdk.client.RoutingTable;
import plannerd.sdk.handoff.Pending;
import plannerd.sdk.handoff.Routes;
import plannerd.sdk.route.Table;

/**
 * What is known of a table at one time.
 *
 * @param table the committed table with what is pending
 * @param origin what made this version of the table, for statistics; null: a file of an older program
 *     does not say
 * @param configVersion the version of the configuration that the table pins
 * @param pending the plan that is being carried out, without the lists of its changes, which are in
 *     table; null: none
 * @param names of the instances that have one, by their ids
 * @param kept it is of the file, and the server has not been heard since. It may be old
 */
public record View(Table table, String origin, long configVersion, RoutingTable.Pending pending,
    Map<Integer, String> names, boolean kept) {
  /**
   * Returns the view as package handoff takes it. A router that hands keys over while messages flow
   * sends them by a {@link plannerd.sdk.handoff.Router}, which sees each view that is not kept, and
   * not by lookups: these may know of a plan before its marker is sent.
   */
  public plannerd.sdk.handoff.View handover() {
    Pending p = pending == null ? null : new Pending(pending.version(), pending.routers(), pending.awaits(),
        RoutingTable.Pending.ABORTING.equals(pending.phase()), pending.executorEpoch());
    return new plannerd.sdk.handoff.View(table.version(), new Routes(table), p);
  }
}
