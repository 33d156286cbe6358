package plannerd.sdk.route;

import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLong;

/** How many messages a router has sent to each instance. */
final class Counts {
  /** Is replaced when an instance comes, not changed. */
  private record Of(int[] ids, AtomicLong[] sent) {}

  private volatile Of of = new Of(new int[0], new AtomicLong[0]);

  AtomicLong at(int instance) {
    Of now = of;
    int i = Arrays.binarySearch(now.ids, instance);
    return i >= 0 ? now.sent[i] : add(instance);
  }

  private synchronized AtomicLong add(int instance) {
    Of now = of;
    int i = Arrays.binarySearch(now.ids, instance);
    if (i >= 0) {
      return now.sent[i];
    }
    int at = -i - 1;
    int[] ids = Arrays.copyOf(now.ids, now.ids.length + 1);
    AtomicLong[] sent = Arrays.copyOf(now.sent, now.sent.length + 1);
    System.arraycopy(now.ids, at, ids, at + 1, now.ids.length - at);
    System.arraycopy(now.sent, at, sent, at + 1, now.sent.length - at);
    ids[at] = instance;
    sent[at] = new AtomicLong();
    of = new Of(ids, sent);
    return sent[at];
  }

  /**
   * Chooses the part with the fewest messages, and counts. Among equals they take turns, lest all
   * routers begin with the same.
   */
  int next(Split s) {
    int size = s.parts.size();
    int first = Integer.remainderUnsigned(s.turn.incrementAndGet(), size);
    int chosen = 0;
    AtomicLong least = null;
    long fewest = 0;
    for (int i = 0; i < size; i++) {
      int instance = s.parts.get((first + i) % size).instance();
      AtomicLong n = at(instance);
      long sent = n.get();
      if (least == null || sent < fewest) {
        chosen = instance;
        least = n;
        fewest = sent;
      }
    }
    least.incrementAndGet();
    return chosen;
  }
}
