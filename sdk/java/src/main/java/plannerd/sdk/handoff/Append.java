package plannerd.sdk.handoff;

/**
 * Something that a router appends to the channel of an instance: a message, or a marker.
 *
 * @param to the instance
 * @param epoch of the router: an append below the highest of the channel is refused
 * @param marker the version of the hand-over that it announces; 0: it is a message
 */
public record Append<M>(int to, long epoch, long marker, Key key, M message) {}
