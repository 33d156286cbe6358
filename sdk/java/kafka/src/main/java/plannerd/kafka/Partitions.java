package plannerd.kafka;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.ToIntFunction;

/**
 * The partitions of a group's topics as items.
 *
 * @param <T> what topics are known by
 */
final class Partitions<T> {
  private final List<T> topics;
  private final int[] topicOf; // by item
  private final int[] first; // by topic: its partition 0; one more at the end
  private final Map<T, Integer> index = new HashMap<>();

  /** Numbers the partitions of the topics, which are in order. */
  Partitions(Collection<T> topics, ToIntFunction<T> count) {
    this.topics = new ArrayList<>(topics);
    first = new int[this.topics.size() + 1];
    for (int t = 0; t < this.topics.size(); t++) {
      first[t + 1] = first[t] + Math.max(count.applyAsInt(this.topics.get(t)), 0);
      index.put(this.topics.get(t), t);
    }
    topicOf = new int[first[this.topics.size()]];
    for (int t = 0; t < this.topics.size(); t++) {
      Arrays.fill(topicOf, first[t], first[t + 1], t);
    }
  }

  int size() {
    return topicOf.length;
  }

  T topic(int item) {
    return topics.get(topicOf[item]);
  }

  int partition(int item) {
    return item - first[topicOf[item]];
  }

  /** Returns a partition's item; {@link Balance#NOBODY}: there is no such partition. */
  int item(T topic, int partition) {
    Integer t = index.get(topic);
    boolean there = t != null && partition >= 0 && partition < first[t + 1] - first[t];
    return there ? first[t] + partition : Balance.NOBODY;
  }

  /** Returns the keys of all items, given the topics' names, which are null where they are not known. */
  String[][] keys(Function<T, String> name) {
    String[][] keys = new String[size()][];
    for (int i = 0; i < keys.length; i++) {
      String topic = name.apply(topic(i));
      keys[i] = topic == null ? new String[0] : new String[] {topic + "/" + partition(i)};
    }
    return keys;
  }

  /** Returns who may have which partition: who subscribes to its topic. */
  Balance.Eligible subscribed(List<? extends Collection<T>> subscriptions) {
    BitSet[] of = new BitSet[subscriptions.size()];
    for (int m = 0; m < of.length; m++) {
      of[m] = new BitSet();
      for (T topic : subscriptions.get(m)) {
        Integer t = index.get(topic);
        if (t != null) {
          of[m].set(t);
        }
      }
    }
    return (member, item) -> of[member].get(topicOf[item]);
  }
}
