package plannerd.sdk.route;

/**
 * An instance of an operator, or a node of a token ring.
 *
 * @param id at least 0
 * @param tokens its ring tokens, at least 0; of an instance 0 stands for
 *     {@link HashConfig#tokensPerInstance}
 * @param name of an instance; null: it has none
 */
public record Node(int id, int tokens, String name) {
  /** One without a name. */
  public Node(int id, int tokens) {
    this(id, tokens, null);
  }
}
