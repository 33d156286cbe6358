package plannerd.sdk.handoff;

/**
 * What happens to the messages of keys that a plan moves. All routers and instances of an operator
 * have the same.
 */
public enum Mode {
  /** Routers hold them until the plan has ended. It may be aborted. */
  HOLDING,
  /**
   * They go to the new owner at once, which holds them until the state is there. No such plan may
   * be aborted: it is finished, and another plans back.
   */
  FOLLOWING
}
