package plannerd.sdk.client;

/**
 * A router as it is registered.
 *
 * @param epoch of its registration, which goes into its markers
 * @param expired whether its lease has run out
 */
public record Router(String router, long epoch, boolean expired) {}
