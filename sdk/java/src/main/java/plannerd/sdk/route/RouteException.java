package plannerd.sdk.route;

/**
 * A key has no route: the table has no entry for it, and there is no hash function, or that
 * cannot place it. It is thrown once for a message, so it has no stack trace.
 */
public final class RouteException extends RuntimeException {
  public RouteException(String message) {
    super(message, null, false, false);
  }
}
