package plannerd.sdk.route;

import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** Where a split key goes, and whose turn it is. */
final class Split {
  // It is odd, so that Part.UNITS steps visit every number below Part.UNITS once: then each part
  // has had exactly its weight. It is Part.UNITS divided by the golden ratio: the visited numbers
  // are spread evenly (Knuth, The Art of Computer Programming 3, §6.4, theorem S), so that shares
  // are met early.
  private static final int STEP = 40503;

  final int heaviest;
  final List<Part> parts;
  final AtomicInteger turn; // counts the messages of the key, and goes on when weights change

  Split(int heaviest, List<Part> parts, AtomicInteger turn) {
    this.heaviest = heaviest;
    this.parts = parts;
    this.turn = turn;
  }

  /**
   * The counter of a key at a router, which starts where chance would have it: were all routers
   * to start at the same part, that would get more than its share of keys with few messages.
   */
  static AtomicInteger newTurn(long hash, long router) {
    return new AtomicInteger((int) (Hashes.mix(hash ^ Hashes.mix(router)) >>> 32));
  }

  int next() {
    int at = turn.incrementAndGet() * STEP & Part.UNITS - 1;
    int last = parts.size() - 1;
    for (int i = 0; i < last; i++) {
      at -= parts.get(i).weight();
      if (at < 0) {
        return parts.get(i).instance();
      }
    }
    return parts.get(last).instance();
  }
}
