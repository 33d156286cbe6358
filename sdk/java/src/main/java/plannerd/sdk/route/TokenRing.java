package plannerd.sdk.route;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * The token ring of consistent hashing, as in "DPA Load Balancer" §4.2.
 *
 * <p>Every node holds tokens 0, 1, …, T−1. Token j of node i lies at {@link Hashes#ringPosition} of
 * "token-{i}-{j}" on a circle of 2³² positions, a key at that of its bytes. A key belongs to the
 * node of the first token at or after its position, wrapping round. Of tokens at the same position
 * the one of the lower node counts, then the lower token. A ring is immutable.
 */
public final class TokenRing {
  /**
   * A token of a node and where it lies.
   *
   * @param position 32 bits without a sign
   * @param node the id of its node
   * @param index j
   */
  public record Token(int position, int node, int index) {}

  // The index has 4 to 8 buckets for every token, so that most lookups end at the first token
  // that they see.
  private static final int SPARE_BITS = 2;
  private static final int MAX_TOP_BITS = 24;

  private final List<Token> tokens;
  private final int[] positions; // of tokens, in ring order
  private final int[] nodes;
  private final int[] first; // first[b]: the first token whose position has the top bits b or higher
  private final int shift;

  /**
   * Builds the ring of the given nodes, whose ids are distinct.
   *
   * @throws IllegalArgumentException if no node has a token
   */
  public TokenRing(List<Node> nodesOfRing) {
    List<Token> all = new ArrayList<>();
    for (Node n : nodesOfRing) {
      for (int j = 0; j < n.tokens(); j++) {
        String name = "token-" + n.id() + "-" + j;
        all.add(new Token(Hashes.ringPosition(name.getBytes(StandardCharsets.US_ASCII)), n.id(), j));
      }
    }
    if (all.isEmpty()) {
      throw new IllegalArgumentException("no node has a token");
    }
    all.sort(Comparator.comparingLong((Token t) -> Integer.toUnsignedLong(t.position))
        .thenComparingInt(Token::node).thenComparingInt(Token::index));
    tokens = List.copyOf(all);
    positions = all.stream().mapToInt(Token::position).toArray();
    nodes = all.stream().mapToInt(Token::node).toArray();
    int topBits = Math.min(32 - Integer.numberOfLeadingZeros(all.size() - 1) + SPARE_BITS, MAX_TOP_BITS);
    shift = 32 - topBits;
    first = new int[1 << topBits];
    int token = 0;
    for (int b = 0; b < first.length; b++) {
      while (token < positions.length && positions[token] >>> shift < b) {
        token++;
      }
      first[b] = token;
    }
  }

  /** Returns all tokens in ring order. */
  public List<Token> tokens() {
    return tokens;
  }

  /** Returns the id of the node that a position belongs to. */
  public int at(int position) {
    return nodes[tokenAt(position)];
  }

  /** Returns the index of the token that a position belongs to. */
  int tokenAt(int position) {
    int i = first[position >>> shift];
    while (i < positions.length && Integer.compareUnsigned(positions[i], position) < 0) {
      i++;
    }
    return i < nodes.length ? i : 0;
  }
}
