package plannerd.examples.storm;

import java.nio.ByteBuffer;
import java.util.Arrays;

/** The state of a word: how often it came, and the number of its last message of each source. */
final class Count {
  long n;
  final long[] last;
  private final int ballast;

  Count(int sources, int ballast) {
    last = new long[sources];
    this.ballast = ballast;
  }

  /** Returns the size in bytes. */
  int size() {
    return Long.BYTES * (1 + last.length) + ballast;
  }

  byte[] encode() {
    ByteBuffer b = ByteBuffer.allocate(size());
    b.putLong(n);
    for (long l : last) {
      b.putLong(l);
    }
    return b.array();
  }

  static Count decode(byte[] state, int sources) {
    Count c = new Count(sources, state.length - Long.BYTES * (1 + sources));
    ByteBuffer b = ByteBuffer.wrap(state);
    c.n = b.getLong();
    for (int i = 0; i < sources; i++) {
      c.last[i] = b.getLong();
    }
    return c;
  }

  /** Adds another part of the state of the same word; null: there is none. */
  Count join(Count other) {
    if (other != null) {
      n += other.n;
      Arrays.setAll(last, i -> Math.max(last[i], other.last[i]));
    }
    return this;
  }
}
