package plannerd.sdk.handoff;

import plannerd.sdk.route.Destination;
import plannerd.sdk.route.Part;

/**
 * A table of package route. Keys may be split there: state on an instance to which its key goes no
 * more belongs to the key's heaviest part.
 */
public record Routes(plannerd.sdk.route.Table table) implements Table {
  @Override
  public boolean moves(Key key) {
    return table.lookup(key.bytes()).paused();
  }

  /** Each call takes the next turn of a split key. */
  @Override
  public int route(Key key) {
    return table.lookup(key.bytes()).next();
  }

  @Override
  public int pending(Key key) {
    return then(key).next();
  }

  @Override
  public int goal(Key key, int at) {
    Destination d = then(key);
    for (Part p : d.parts()) {
      if (p.instance() == at) {
        return at;
      }
    }
    return d.instance();
  }

  private Destination then(Key key) {
    if (table.pending() == null) {
      throw new IllegalStateException("the table has nothing pending");
    }
    return table.pending().lookup(key.bytes());
  }
}
