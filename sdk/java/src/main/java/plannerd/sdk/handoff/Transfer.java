package plannerd.sdk.handoff;

/**
 * What one instance sends to another: the state of a key, or that no more comes. Transfers from one
 * instance to another are read in their order.
 *
 * @param version of the hand-over
 * @param end no more comes; key and state are null
 * @param state of the key, the last numbers of its messages included
 */
public record Transfer(long version, int from, int to, boolean end, Key key, byte[] state) {}
