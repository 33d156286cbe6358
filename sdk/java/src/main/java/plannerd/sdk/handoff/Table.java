package plannerd.sdk.handoff;

/** The committed routing table, and what the pending plan makes of it. {@link Routes} is one. */
public interface Table {
  /**
   * Reports whether the pending plan moves a key.
   *
   * @throws plannerd.sdk.route.RouteException if no route is known
   */
  boolean moves(Key key);

  /** Returns the instance to which the next message of a key goes now. */
  int route(Key key);

  /** Returns the instance to which the next message of a key goes when the pending plan is committed. */
  int pending(Key key);

  /** Returns where state of a key that is at an instance belongs then: there, or at another. */
  int goal(Key key, int at);
}
