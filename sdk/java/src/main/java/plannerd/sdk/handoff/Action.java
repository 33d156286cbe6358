package plannerd.sdk.handoff;

import java.util.List;

/**
 * Something that an instance has to do. Actions are done in their order. Those up to the first that
 * is sent, and the machine with them, become durable at once; only then anything is sent.
 *
 * @param keys of ACTIVATE, DROP, FORGET and KEEP; ascending
 * @param router of PROCESS, as key, message and early
 * @param early the message was sent before the hand-over, so that it must not be processed on
 *     provisional state, which an abort drops
 * @param transfer of IMPORT, and the end of SEND_END
 * @param version that of the hand-over of SEND_ACK and SEND_VOTE
 * @param epoch that of its executor
 */
public record Action<M>(Do what, List<Key> keys, String router, Key key, M message, boolean early, Transfer transfer,
    long version, long epoch) {
  /**
   * What instances have to do with the state of keys. A key is active, or it is kept (inactive), or
   * provisional.
   */
  public enum Do {
    /** Apply a message to the key's state, unless its number is not new. */
    PROCESS,
    /** Take the state in, as provisional: where none is active, messages are processed on it. */
    IMPORT,
    /** Send the state of keys elsewhere, see {@link Instance#exports}. */
    EXPORT,
    /** What was kept is active again, as the plan is aborted. */
    ACTIVATE,
    /** What was provisional goes, as the plan is aborted. */
    DROP,
    /** What was kept goes, as the plan is committed. */
    FORGET,
    /** What was provisional is active, as the plan is committed; it joins what was active before. */
    KEEP,
    /** Send the transfer: nothing more comes from here. */
    SEND_END,
    /** Tell the driver that the instance has everything. */
    SEND_ACK,
    /** Tell the driver that the instance is back where it was. */
    SEND_VOTE;

    /** Reports whether this sends something, and so comes after what is durable. */
    public boolean isSent() {
      return compareTo(SEND_END) >= 0;
    }
  }

  static <M> Action<M> of(Do what) {
    return new Action<>(what, List.of(), null, null, null, false, null, 0, 0);
  }

  static <M> Action<M> of(Do what, List<Key> keys) {
    return new Action<>(what, keys, null, null, null, false, null, 0, 0);
  }

  static <M> Action<M> of(Do what, Transfer transfer) {
    return new Action<>(what, List.of(), null, null, null, false, transfer, 0, 0);
  }

  static <M> Action<M> of(Do what, long version, long epoch) {
    return new Action<>(what, List.of(), null, null, null, false, null, version, epoch);
  }

  static <M> Action<M> process(Read<M> m, boolean early) {
    return new Action<>(Do.PROCESS, List.of(), m.router(), m.key(), m.message(), early, null, 0, 0);
  }
}
