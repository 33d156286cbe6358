package plannerd.sdk.route;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Which part of a key is its routed key: that is hashed and looked up in place of the key, so that
 * keys of one routed key stay together.
 *
 * @param tag what stands between the first { and the next }; the whole key where there is no such
 *     part, or an empty one
 * @param until a text before which the routed key stands; the whole key where it does not occur, or
 *     nothing stands before it. Null under a tag
 * @param count before which occurrence of the text, counted without overlaps; 0 stands for 1
 */
public record Affinity(boolean tag, String until, int count) {
  /** Makes a count that is left out 1. */
  public Affinity {
    count = until != null && count == 0 ? 1 : count;
  }

  /** Returns the part of the key that decides, which is the array itself where that is all of it. */
  public byte[] routedKey(byte[] key) {
    return tag ? tagOf(key) : before(key, until.getBytes(StandardCharsets.UTF_8));
  }

  private static byte[] tagOf(byte[] key) {
    int open = indexOf(key, new byte[] {'{'}, 0);
    int close = open < 0 ? -1 : indexOf(key, new byte[] {'}'}, open + 1);
    return close <= open + 1 ? key : Arrays.copyOfRange(key, open + 1, close);
  }

  private byte[] before(byte[] key, byte[] text) {
    int at = indexOf(key, text, 0);
    for (int n = 1; n < count && at >= 0; n++) {
      at = indexOf(key, text, at + text.length);
    }
    return at <= 0 ? key : Arrays.copyOf(key, at);
  }

  private static int indexOf(byte[] key, byte[] text, int from) {
    for (int at = from; at <= key.length - text.length; at++) {
      if (Arrays.equals(key, at, at + text.length, text, 0, text.length)) {
        return at;
      }
    }
    return -1;
  }

  /** Places keys by their routed keys; without an affinity as the function does. */
  static HashFunction by(Affinity affinity, HashFunction function) {
    return affinity == null ? function : new Grouped(affinity, function);
  }

  /** A hash function of routed keys; null: nobody knows where they are. */
  record Grouped(Affinity affinity, HashFunction function) implements HashFunction {
    @Override
    public int instance(byte[] key, long hash) {
      if (function == null) {
        throw new RouteException("the key has no entry, and there is no hash function");
      }
      byte[] routed = affinity.routedKey(key);
      return function.instance(routed, routed == key ? hash : Hashes.keyHash(routed));
    }
  }
}
