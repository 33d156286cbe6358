package plannerd.sdk.handoff;

/**
 * What the service says at one time.
 *
 * @param version the committed version of the table
 * @param table the committed table, and what the pending plan makes of it
 * @param pending the plan that is being handed over; null: none
 */
public record View(long version, Table table, Pending pending) {
  /** What a router knows that has read nothing yet. */
  static final View NONE = new View(0, null, null);

  /**
   * Reports whether this is of an older time than another view. Every end of a hand-over makes a
   * version: what is pending does not go without one.
   */
  boolean isBefore(View w) {
    if (version != w.version || w.pending == null) {
      return version < w.version;
    }
    return pending == null || w.pending.aborting() && !pending.aborting();
  }
}
