package plannerd.sdk.route;

import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/**
 * A hash table of entries, by open addressing. It is filled once, and from then on only read.
 * Entries of one layer are shared with those that are made of it.
 */
final class Layer {
  /** An entry; unset: there was one, and is none any more. */
  record Slot(byte[] key, long hash, int instance, Split split, boolean unset) {
    Entry entry() {
      return split == null ? new Entry(key, instance) : new Entry(key, instance, split.parts);
    }
  }

  static final int MAX_KEY_BYTES = 1024;

  private final Slot[] slots; // a power of two, less than half of them taken
  private int used;

  Layer(int keys) {
    slots = new Slot[Math.max(Integer.highestOneBit(2 * keys) << 1, 1)];
  }

  int used() {
    return used;
  }

  /** Returns a key's slot, or null. */
  Slot find(byte[] key, long hash) {
    if (used == 0) {
      return null;
    }
    for (int i = (int) hash; ; i++) {
      Slot s = slots[i & slots.length - 1];
      if (s == null || s.hash == hash && Arrays.equals(s.key, key)) {
        return s;
      }
    }
  }

  /** Adds or replaces a slot, for which there is room. */
  void put(Slot slot) {
    if (slot.key.length > MAX_KEY_BYTES) {
      throw new IllegalArgumentException("a key is longer than " + MAX_KEY_BYTES + " bytes");
    }
    for (int i = (int) slot.hash; ; i++) {
      Slot s = slots[i & slots.length - 1];
      if (s == null) {
        used++;
      }
      if (s == null || s.hash == slot.hash && Arrays.equals(s.key, slot.key)) {
        slots[i & slots.length - 1] = slot;
        return;
      }
    }
  }

  /** Adds or replaces an entry. The turn is that of the key so far; null: it was not split. */
  void put(Entry e, long hash, long router, AtomicInteger turn) {
    Split split = null;
    if (e.parts() != null) {
      Part.check(e.parts());
      AtomicInteger own = turn == null ? Split.newTurn(hash, router) : turn;
      split = new Split(e.instance(), List.copyOf(e.parts()), own);
    }
    put(new Slot(e.key(), hash, e.instance(), split, false));
  }

  void unset(byte[] key) {
    put(new Slot(key, Hashes.keyHash(key), 0, null, true));
  }

  void forEach(Consumer<Slot> action) {
    for (Slot s : slots) {
      if (s != null) {
        action.accept(s);
      }
    }
  }

  /** Returns a copy with room for more keys. */
  Layer with(int more) {
    Layer out = new Layer(used + more);
    forEach(out::put);
    return out;
  }

  /** Returns the entries as changed by another layer. */
  Layer merged(Layer changes) {
    Layer out = with(changes.used);
    changes.forEach(out::put);
    Layer dense = new Layer(out.used);
    out.forEach(s -> {
      if (!s.unset) {
        dense.put(s);
      }
    });
    return dense;
  }
}
