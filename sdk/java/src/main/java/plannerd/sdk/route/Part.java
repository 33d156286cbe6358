package plannerd.sdk.route;

import java.util.List;

/**
 * One of the instances of a split key.
 *
 * @param weight its share of the key's messages, from 1 to {@link #UNITS}−1, in 1/{@link #UNITS}
 */
public record Part(int instance, int weight) {
  /** The weight of a whole key. */
  public static final int UNITS = 1 << 16;

  /** Throws IllegalArgumentException if these cannot be the parts of a table entry. */
  static void check(List<Part> parts) {
    long sum = 0;
    for (int i = 0; i < parts.size(); i++) {
      Part x = parts.get(i);
      if (x.weight < 1) {
        throw new IllegalArgumentException("parts must have weights ≥ 1");
      }
      if (i > 0 && x.instance <= parts.get(i - 1).instance) {
        throw new IllegalArgumentException("parts must be on instances that ascend without repetition");
      }
      sum += x.weight;
    }
    if (parts.size() < 2 || sum != UNITS) {
      throw new IllegalArgumentException("parts must be two at least, whose weights sum up to 65536");
    }
  }
}
