package plannerd.sdk.route;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * Rules of which the first that matches a key says which instances may have it.
 *
 * @param rules at most 1 000, as a table tells them
 */
public record Placement(List<Rule> rules) {
  /**
   * Which instances some keys may have.
   *
   * @param on null: all
   * @param exclusive no other keys may be on these instances, but those of rules that are exclusive
   *     on them, too
   * @param stay the keys move only if their instance goes, which is nothing to the hash
   */
  public record Rule(String name, Keys keys, On on, boolean exclusive, boolean stay) {}

  /**
   * The keys of a rule.
   *
   * @param prefix what they begin with; null: anything
   * @param equals these keys; null: all with the prefix
   */
  public record Keys(String prefix, List<String> equals) {}

  /** Instances by their ids. */
  public record On(List<Integer> instances) {}

  /**
   * Returns the hash function over the instances under the rules, of which null stands for none.
   *
   * @throws IllegalArgumentException if the configuration describes none
   */
  public static HashFunction over(HashConfig hash, List<Node> instances, Placement by) {
    return Affinity.by(hash.affinity(), whole(hash, instances, by));
  }

  private static HashFunction whole(HashConfig hash, List<Node> instances, Placement by) {
    HashFunction plain = hash.whole(instances);
    if (by == null || !heeded(hash)) {
      return plain;
    }
    int[] ids = instances.stream().mapToInt(Node::id).toArray();
    int[][] eligible = by.eligible(ids);
    Matcher rules = new Matcher(by.rules);
    if (hash.function().equals(HashConfig.MODULO)) {
      return (key, h) -> {
        int[] on = eligible[rules.first(key)];
        return on[(int) Long.remainderUnsigned(h, on.length)];
      };
    }
    TokenRing ring = new TokenRing(hash.nodes(instances));
    int[] owners = ring.tokens().stream().mapToInt(t -> Arrays.binarySearch(ids, t.node())).toArray();
    boolean[][] open = new boolean[eligible.length][ids.length];
    for (int rule = 0; rule < eligible.length; rule++) {
      for (int id : eligible[rule]) {
        open[rule][Arrays.binarySearch(ids, id)] = true;
      }
    }
    return (key, h) -> {
      boolean[] may = open[rules.first(key)];
      int i = ring.tokenAt(Hashes.ringPosition(key));
      while (!may[owners[i]]) {
        i = i + 1 < owners.length ? i + 1 : 0;
      }
      return ids[owners[i]];
    };
  }

  /** Reports whether a hash function heeds rules; the others place keys as the engine does. */
  static boolean heeded(HashConfig hash) {
    return hash.function().equals(HashConfig.RING) || hash.function().equals(HashConfig.MODULO);
  }

  /** The ascending ids that each rule allows, and behind them what keys may have that match none. */
  private int[][] eligible(int[] ids) {
    Set<Integer> own = new HashSet<>();
    rules.stream().filter(Rule::exclusive).forEach(r -> own.addAll(r.on.instances));
    int[][] out = new int[rules.size() + 1][];
    boolean all = false; // some rule matches every key
    for (int i = 0; i < out.length; i++) {
      Rule r = i < rules.size() ? rules.get(i) : null;
      Set<Integer> on = r == null || r.on == null ? null : new HashSet<>(r.on.instances);
      boolean mine = r != null && r.exclusive;
      out[i] = Arrays.stream(ids).filter(id -> (on == null || on.contains(id)) && (mine || !own.contains(id))).toArray();
      if (out[i].length == 0 && !(r == null && all)) {
        throw new IllegalArgumentException("rule " + i + " leaves its keys no instance");
      }
      all |= r != null && r.keys.equals == null && (r.keys.prefix == null || r.keys.prefix.isEmpty());
    }
    return out;
  }

  /** Finds the first rule that matches a key. */
  private static final class Matcher {
    private final int none;
    private final byte[][] named;
    private final int[] ruleOfNamed;
    private final byte[][] prefixes; // in ascending order
    private final int[] ruleOfPrefix; // the first of those of a prefix and of all that it begins with
    private final int[] shorter; // the longest prefix that a prefix begins with; -1: none

    Matcher(List<Rule> rules) {
      none = rules.size();
      Map<byte[], Integer> exact = new TreeMap<>(Arrays::compareUnsigned);
      Map<byte[], Integer> begun = new TreeMap<>(Arrays::compareUnsigned);
      for (int i = 0; i < none; i++) {
        Keys keys = rules.get(i).keys;
        if (keys.equals == null) {
          begun.putIfAbsent(bytes(keys.prefix == null ? "" : keys.prefix), i);
        } else {
          for (String key : keys.equals) {
            exact.putIfAbsent(bytes(key), i);
          }
        }
      }
      named = exact.keySet().toArray(new byte[0][]);
      ruleOfNamed = exact.values().stream().mapToInt(i -> i).toArray();
      prefixes = begun.keySet().toArray(new byte[0][]);
      ruleOfPrefix = begun.values().stream().mapToInt(i -> i).toArray();
      shorter = new int[prefixes.length];
      List<Integer> open = new ArrayList<>(); // the prefixes that the one before begins with, and itself
      for (int i = 0; i < prefixes.length; i++) {
        while (!open.isEmpty() && !begins(prefixes[i], prefixes[open.get(open.size() - 1)])) {
          open.remove(open.size() - 1);
        }
        shorter[i] = open.isEmpty() ? -1 : open.get(open.size() - 1);
        if (shorter[i] >= 0) {
          ruleOfPrefix[i] = Math.min(ruleOfPrefix[i], ruleOfPrefix[shorter[i]]);
        }
        open.add(i);
      }
    }

    /** Returns the index of the first rule that matches; as many as there are: none does. */
    int first(byte[] key) {
      int exact = Arrays.binarySearch(named, key, Arrays::compareUnsigned);
      int rule = exact < 0 ? none : ruleOfNamed[exact];
      // What lies between a prefix of the key and the key begins with that prefix, too.
      int i = Arrays.binarySearch(prefixes, key, Arrays::compareUnsigned);
      for (i = i < 0 ? -i - 2 : i; i >= 0 && !begins(key, prefixes[i]); i = shorter[i]) {
      }
      return i < 0 ? rule : Math.min(rule, ruleOfPrefix[i]);
    }

    private static boolean begins(byte[] key, byte[] prefix) {
      return key.length >= prefix.length && Arrays.equals(key, 0, prefix.length, prefix, 0, prefix.length);
    }

    private static byte[] bytes(String text) {
      return text.getBytes(StandardCharsets.UTF_8);
    }
  }
}
