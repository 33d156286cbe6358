package plannerd.sdk.handoff;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** The bytes of a key, which must not be changed. Keys are in the order of their bytes without a sign. */
public record Key(byte[] bytes) implements Comparable<Key> {
  /** The key that a text is, in UTF-8. */
  public static Key of(String text) {
    return new Key(text.getBytes(StandardCharsets.UTF_8));
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Key k && Arrays.equals(bytes, k.bytes);
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(bytes);
  }

  @Override
  public int compareTo(Key other) {
    return Arrays.compareUnsigned(bytes, other.bytes);
  }

  /** Returns the bytes as UTF-8, for people. */
  @Override
  public String toString() {
    return new String(bytes, StandardCharsets.UTF_8);
  }
}
