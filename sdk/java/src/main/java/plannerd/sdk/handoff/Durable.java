package plannerd.sdk.handoff;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * What an instance makes durable together with the state of its keys and its positions in channels
 * and transfers. The engine encodes it as it likes, and must not change it.
 */
public final class Durable<M> {
  /** The version of the last hand-over that has ended here. */
  public long ended;
  /** The last markers that were read, by router. */
  public Map<String, Marker> markers = new HashMap<>();
  /** The hand-over that is being carried out; null: none. */
  public Doing<M> doing;

  /** What a router announced. */
  public record Marker(long version, long epoch) {}

  /**
   * Where state of a key came from: that of a split key, or of one that was found at two instances,
   * may come from several.
   */
  public record Origin(Key key, int from) implements Comparable<Origin> {
    @Override
    public int compareTo(Origin other) {
      int by = key.compareTo(other.key);
      return by != 0 ? by : Integer.compare(from, other.from);
    }
  }

  /** A hand-over that an instance takes part in. */
  public static final class Doing<M> {
    public long version;
    /** The committed version when it began. */
    public long base;
    public Map<String, Long> routers;
    public List<Integer> awaits;
    public long executorEpoch;
    /** Keys that were sent away. */
    public TreeSet<Key> given = new TreeSet<>();
    /** Keys whose state came, and of whom. */
    public TreeSet<Origin> taken = new TreeSet<>();
    /** Instances of which nothing more comes. */
    public TreeSet<Integer> ends = new TreeSet<>();
    public boolean exported;
    public boolean voted;
    /** Messages whose key's state may still come. */
    public List<Read<M>> parked = new ArrayList<>();

    boolean has(Key key) {
      Origin at = taken.ceiling(new Origin(key, Integer.MIN_VALUE));
      return at != null && at.key().equals(key);
    }

    List<Key> takenKeys() {
      return taken.stream().map(Origin::key).distinct().collect(Collectors.toList());
    }

    boolean allEnded(int self) {
      return awaits.stream().allMatch(i -> i == self || ends.contains(i));
    }
  }
}
