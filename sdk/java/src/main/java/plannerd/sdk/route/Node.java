package plannerd.sdk.route;

/**
 * An instance of an operator, or a node of a token ring.
 *
 * @param id at least 0
 * @param tokens its ring tokens, at least 0; of an instance 0 stands for
 *     {@link HashConfig#tokensPerInstance}
 */
public record Node(int id, int tokens) {}
