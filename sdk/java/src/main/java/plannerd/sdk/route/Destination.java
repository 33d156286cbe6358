package plannerd.sdk.route;

import java.util.List;

/**
 * Where a table sends a key. A router may use one object for all its lookups ({@link
 * Table#lookup(byte[], Destination)}); threads must not share it.
 */
public final class Destination {
  int instance;
  boolean paused;
  long version;
  Split split;
  Counts sent; // that messages are counted in; null: they are not

  /** Returns where the key goes; of a split key the part that its entry names. */
  public int instance() {
    return instance;
  }

  /** Reports whether the state of the key is moving, so that its messages have to wait. */
  public boolean paused() {
    return paused;
  }

  /** Returns the version of the table. */
  public long version() {
    return version;
  }

  /** Returns where the messages of a split key go; empty: all go to the one instance. */
  public List<Part> parts() {
    return split == null ? List.of() : split.parts;
  }

  /**
   * Returns the instance of the next message of the key. Those of a split key go to all of its
   * parts, as the {@link Routing} of the table says.
   */
  public int next() {
    if (split == null) {
      if (sent != null) {
        sent.at(instance).incrementAndGet();
      }
      return instance;
    }
    return sent != null ? sent.next(split) : split.next();
  }
}
