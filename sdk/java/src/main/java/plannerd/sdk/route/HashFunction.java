package plannerd.sdk.route;

/** Places the keys that have no entry in a routing table. */
@FunctionalInterface
public interface HashFunction {
  /**
   * Returns the id of the key's instance.
   *
   * @param hash {@link Hashes#keyHash} of the key
   * @throws RouteException if the function cannot place the key
   */
  int instance(byte[] key, long hash);
}
