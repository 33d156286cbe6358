package plannerd.sdk.handoff;

import java.util.ArrayList;
import java.util.List;

/**
 * A router's side of hand-overs. Nothing of it is durable: a router that restarts registers again,
 * and takes from its source again what was not appended. M is the type of a message. Threads must
 * not share it.
 */
public final class Router<M> {
  private record Held<M>(Key key, M message) {}

  private final Mode mode;
  private long epoch; // 0: it has to register
  private View view = View.NONE;
  private long marked; // the version of the last hand-over that it announced
  private List<Held<M>> held = new ArrayList<>();

  /** Makes a router that has not registered yet. */
  public Router(Mode mode) {
    this.mode = mode;
  }

  /**
   * Tells the router its epoch. It has to {@link #see} a view that was read after it registered
   * before it forwards anything.
   */
  public void registered(long newEpoch) {
    epoch = newEpoch;
    view = View.NONE;
    marked = 0;
  }

  /** Returns how many messages wait. */
  public int holds() {
    return held.size();
  }

  /**
   * Tells the router what the service says now, and returns what to append, in this order. A view
   * of an older time than what it knows changes nothing.
   */
  public List<Append<M>> see(View v) {
    if (epoch == 0) {
      throw new IllegalStateException("the router has to register first");
    }
    List<Append<M>> out = new ArrayList<>();
    if (v.isBefore(view)) {
      return out;
    }
    view = v;
    // What is no more of a plan goes first: it has to be before the next marker.
    release(out);
    Pending p = v.pending();
    if (p == null || p.aborting() || marked == p.version()) {
      return out;
    }
    marked = p.version();
    for (int to : p.awaits()) {
      out.add(new Append<>(to, epoch, p.version(), null, null));
    }
    release(out);
    return out;
  }

  /** Appends the messages that need not wait any longer. */
  private void release(List<Append<M>> out) {
    List<Held<M>> left = new ArrayList<>();
    for (Held<M> h : held) {
      Append<M> a = place(h.key, h.message);
      if (a == null) {
        left.add(h);
      } else {
        out.add(a);
      }
    }
    held = left;
  }

  /** Returns where a message goes; null: it waits. */
  private Append<M> place(Key key, M message) {
    if (view.pending() == null || !view.table().moves(key)) {
      return new Append<>(view.table().route(key), epoch, 0, key, message);
    }
    if (mode == Mode.HOLDING || marked != view.pending().version()) {
      return null;
    }
    return new Append<>(view.table().pending(key), epoch, 0, key, message);
  }

  /**
   * Takes a message. It returns what to append, or null: the message is held, and may be
   * acknowledged to its source only once {@link #see} has had it appended.
   *
   * @throws IllegalStateException if the router has to register, or to read the table, first
   * @throws plannerd.sdk.route.RouteException if no route is known; nothing was taken then
   */
  public Append<M> take(Key key, M message) {
    if (epoch == 0 || view.table() == null) {
      throw new IllegalStateException("the router has to register and to read the table first");
    }
    Append<M> a = place(key, message);
    if (a == null) {
      held.add(new Held<>(key, message));
    }
    return a;
  }

  /**
   * Tells the router that an append was refused, as another had a higher epoch, and what of its
   * answer was not appended therefore, in order: from that one on. The router has to register
   * again; it keeps the messages.
   */
  public void refused(List<Append<M>> rest) {
    epoch = 0;
    List<Held<M>> back = new ArrayList<>();
    for (Append<M> a : rest) {
      if (a.marker() == 0) {
        back.add(new Held<>(a.key(), a.message()));
      }
    }
    back.addAll(held); // they came before whatever of the same key is held
    held = back;
  }
}
