package plannerd.sdk.handoff;

/**
 * Something that an instance reads from its channel from a router: a message, or a marker.
 *
 * @param marker the version of a hand-over; 0: it is a message
 */
public record Read<M>(String router, long epoch, long marker, Key key, M message) {}
