package plannerd.sdk.route;

/** How routers choose among the parts of a split key. */
public enum Routing {
  /** Each part gets the share of the key's messages that its weight says. */
  WEIGHTED,
  /**
   * Each message goes to the part whose instance has got the fewest messages from this router, of
   * all keys. Weights count for nothing. That is the local load estimation of partial key grouping
   * (Nasir et al., ICDE 2015, §4).
   */
  LEAST_LOADED;

  /** Reads the name that the API has; null stands for {@link #WEIGHTED}. */
  public static Routing of(String name) {
    return name == null ? WEIGHTED : valueOf(name.toUpperCase(java.util.Locale.ROOT));
  }
}
