package plannerd.sdk.route;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/** An immutable version of a routing table. Threads may share it. */
public final class Table {
  /** How many changes are not worth a new list. */
  private static final int LEAST_MERGED = 1 << 10;

  private final long version;
  private final HashFunction hash; // null: keys without an entry have no route
  private final Affinity affinity; // of the hash: entries are of routed keys; null: of whole keys
  private final long router; // where its turns of split keys begin
  private final Layer entries;
  private final Layer changes; // entries that were set or unset since, which hide those of entries
  private final Next next; // null: nothing is pending
  private final Counts sent; // null: parts are chosen by their weights

  /**
   * The table that a plan will make, and the keys that it names.
   *
   * @param rehashed also keys that are not named may go elsewhere
   */
  private record Next(Table table, Layer named, boolean rehashed) {}

  private Table(long version, HashFunction hash, long router, Layer entries, Layer changes, Next next, Counts sent) {
    this.version = version;
    this.hash = hash;
    this.affinity = hash instanceof Affinity.Grouped g ? g.affinity() : null;
    this.router = router;
    this.entries = entries;
    this.changes = changes;
    this.next = next;
    this.sent = sent;
  }

  /**
   * Makes a table.
   *
   * @param hash places keys without an entry; null: nobody knows where they are
   * @param router the router's name, which decides with which part of a split key it begins
   * @throws IllegalArgumentException if a key stands twice or is longer than 1024 bytes, or parts
   *     are not as {@link Entry} says
   */
  public static Table of(long version, HashFunction hash, List<Entry> list, String router) {
    long name = Hashes.keyHash(router.getBytes(StandardCharsets.UTF_8));
    Layer entries = new Layer(list.size());
    for (int i = 0; i < list.size(); i++) {
      Entry e = list.get(i);
      entries.put(e, Hashes.keyHash(e.key()), name, null);
      if (entries.used() == i) {
        throw new IllegalArgumentException("a key stands twice");
      }
    }
    return new Table(version, hash, name, entries, new Layer(0), null, null);
  }

  public long version() {
    return version;
  }

  /** Visits all entries, in no order. */
  public void forEach(Consumer<Entry> action) {
    changes.forEach(s -> {
      if (!s.unset()) {
        action.accept(s.entry());
      }
    });
    entries.forEach(s -> {
      if (changes.find(s.key(), s.hash()) == null) {
        action.accept(s.entry());
      }
    });
  }

  /**
   * Writes where a key goes, without allocating, but for the routed key under an affinity.
   *
   * @throws RouteException if no route is known; whether the key is paused was written
   *     nevertheless
   */
  public void lookup(byte[] key, Destination into) {
    byte[] routed = routed(key);
    long h = Hashes.keyHash(routed);
    into.paused = false;
    if (next == null) {
      at(routed, h, into);
      return;
    }
    byte[] later = next.table.routed(key);
    long laterHash = Hashes.keyHash(later);
    into.paused = next.named.find(later, laterHash) != null;
    into.instance = 0;
    try {
      at(routed, h, into);
    } finally {
      if (!into.paused && next.rehashed) {
        into.paused = next.table.instance(later, laterHash) != into.instance;
      }
    }
  }

  private byte[] routed(byte[] key) {
    return affinity == null ? key : affinity.routedKey(key);
  }

  /**
   * Returns where a key goes.
   *
   * @throws RouteException if no route is known
   */
  public Destination lookup(byte[] key) {
    Destination d = new Destination();
    lookup(key, d);
    return d;
  }

  /** Returns the table that a plan will make of this one; null: nothing is pending. */
  public Table pending() {
    return next == null ? null : next.table;
  }

  private Layer.Slot slot(byte[] key, long h) {
    Layer.Slot found = changes.find(key, h);
    if (found == null) {
      found = entries.find(key, h);
    }
    return found == null || found.unset() ? null : found;
  }

  private void at(byte[] key, long h, Destination into) {
    Layer.Slot found = slot(key, h);
    into.version = version;
    into.sent = sent;
    into.split = found == null ? null : found.split();
    into.instance = found == null ? placed(key, h) : found.instance();
  }

  private int placed(byte[] key, long h) {
    if (hash == null) {
      throw new RouteException("the key has no entry, and there is no hash function");
    }
    return hash.instance(key, h);
  }

  /** Returns where a key goes; −1: no route is known. */
  private int instance(byte[] key, long h) {
    Layer.Slot found = slot(key, h);
    if (found != null) {
      return found.instance();
    }
    try {
      return placed(key, h);
    } catch (RouteException e) {
      return -1;
    }
  }

  /**
   * Returns the table of a later version: with entries set and unset, and nothing pending. The
   * turns of split keys go on.
   */
  public Table changed(long laterVersion, List<Entry> set, List<byte[]> unset) {
    Layer more = changes.with(set.size() + unset.size());
    for (Entry e : set) {
      long h = Hashes.keyHash(e.key());
      Layer.Slot old = slot(e.key(), h);
      AtomicInteger turn = old == null || old.split() == null ? null : old.split().turn;
      more.put(e, h, router, turn);
    }
    unset.forEach(more::unset);
    Counts counts = sent != null && laterVersion != version ? new Counts() : sent;
    // Every change copies those before it, and every lookup looks into them first. Once they are
    // many, there is one list again.
    if (more.used() > Math.max(LEAST_MERGED, entries.used() / 8)) {
      return new Table(laterVersion, hash, router, entries.merged(more), new Layer(0), null, counts);
    }
    return new Table(laterVersion, hash, router, entries, more, null, counts);
  }

  /** Returns the same table under a plan that is being carried out; null: under none. */
  public Table withPending(Pending p) {
    Table now = new Table(version, hash, router, entries, changes, null, sent);
    if (p == null) {
      return now;
    }
    Table then = now.changed(p.version(), p.set(), p.unset()).withRouting(p.routing());
    then = new Table(then.version, p.hash(), router, then.entries, then.changes, null, then.sent);
    Layer named = new Layer(p.set().size() + p.unset().size());
    p.set().forEach(e -> named.unset(e.key()));
    p.unset().forEach(named::unset);
    return new Table(version, hash, router, entries, changes, new Next(then, named, p.rehashed()), sent);
  }

  /**
   * Returns the same table under another way to choose among parts, which begins to count anew.
   * Under {@link Routing#LEAST_LOADED} messages are counted by {@link Destination#next}, so it has
   * to be asked for whole keys, too. Tables of later versions that are made of this one choose as
   * it does.
   */
  public Table withRouting(Routing by) {
    Counts counts = by == Routing.LEAST_LOADED ? new Counts() : null;
    return new Table(version, hash, router, entries, changes, next, counts);
  }

  /** Returns how the table has routers choose among the parts of a split key. */
  public Routing routing() {
    return sent == null ? Routing.WEIGHTED : Routing.LEAST_LOADED;
  }
}
