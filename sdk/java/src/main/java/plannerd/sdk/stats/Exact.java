package plannerd.sdk.stats;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import plannerd.sdk.client.Row;
import plannerd.sdk.handoff.Key;

/** Counts the cost of every key. Its methods may be called by any thread. */
public final class Exact {
  private static final int SHARDS = 64;

  /** What is known of a key. */
  private static final class Counted {
    double cost;
    double state;
    boolean gone; // it has no state here any more
  }

  private final List<Map<Key, Counted>> shards = new ArrayList<>();

  /** Makes counters of no keys. */
  public Exact() {
    for (int i = 0; i < SHARDS; i++) {
      shards.add(new HashMap<>());
    }
  }

  private Map<Key, Counted> shard(Key key) {
    int h = key.hashCode() * 0x9e3779b9;
    return shards.get(h >>> 26);
  }

  /**
   * Adds to the cost of a key in this interval: 1 for a message, or the time that it took, in any
   * unit that is the same at all instances.
   */
  public void add(Key key, double cost) {
    Map<Key, Counted> shard = shard(key);
    synchronized (shard) {
      Counted c = shard.computeIfAbsent(key, k -> new Counted());
      c.cost += cost;
      c.gone = false;
    }
  }

  /** Says how large the state of a key is, in any unit. It stays until it is set again. */
  public void setState(Key key, double size) {
    Map<Key, Counted> shard = shard(key);
    synchronized (shard) {
      Counted c = shard.computeIfAbsent(key, k -> new Counted());
      c.state = size;
      c.gone = false;
    }
  }

  /**
   * Says that the key has no state here any more. What it cost so far in this interval is told at
   * its end, with no state: where it went, it costs the rest.
   */
  public void forget(Key key) {
    Map<Key, Counted> shard = shard(key);
    synchronized (shard) {
      Counted c = shard.get(key);
      if (c != null) {
        c.state = 0;
        c.gone = true;
      }
    }
  }

  /**
   * Ends the interval: it returns all keys that were not forgotten, idle ones too, in ascending
   * order, and the next interval begins. What is added meanwhile counts in one of both intervals.
   */
  public List<Row> close() {
    List<Row> rows = new ArrayList<>();
    for (Map<Key, Counted> shard : shards) {
      synchronized (shard) {
        for (Iterator<Map.Entry<Key, Counted>> all = shard.entrySet().iterator(); all.hasNext(); ) {
          Map.Entry<Key, Counted> e = all.next();
          Counted c = e.getValue();
          if (!c.gone || c.cost > 0) {
            rows.add(new Row(e.getKey().bytes(), c.cost, c.state));
          }
          c.cost = 0;
          if (c.gone) {
            all.remove();
          }
        }
      }
    }
    rows.sort(Comparator.comparing(r -> new Key(r.key())));
    return rows;
  }

  /**
   * Makes statistics of the whole operator of what its instances, by their ids, counted in an
   * interval, for an engine that sends all rows in one request. A key that moved during the interval
   * was counted at two instances; it gets one row: costs, those of resources too, and states add up,
   * and it is where most of its state is, of equals at the lowest id. Rows are ascending by key.
   */
  public static List<Row> merge(Map<Integer, List<Row>> counted) {
    Map<Key, Row> merged = new TreeMap<>();
    Map<Key, Double> most = new HashMap<>(); // of its state at one instance
    new TreeMap<>(counted).forEach((id, rows) -> {
      for (Row r : rows) {
        Key key = new Key(r.key());
        Row before = merged.get(key);
        boolean here = before == null || r.state() > most.get(key);
        if (here) {
          most.put(key, r.state());
        }
        if (before == null) {
          merged.put(key, new Row(r.key(), r.cost(), r.state(), id, r.costs()));
          continue;
        }
        Map<String, Double> costs = new TreeMap<>(before.costs());
        r.costs().forEach((name, x) -> costs.merge(name, x, Double::sum));
        merged.put(key, new Row(r.key(), before.cost() + r.cost(), before.state() + r.state(),
            here ? id : before.instance(), costs));
      }
    });
    return new ArrayList<>(merged.values());
  }
}
