package plannerd.sdk.handoff;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import plannerd.sdk.handoff.Action.Do;
import plannerd.sdk.handoff.Durable.Doing;
import plannerd.sdk.handoff.Durable.Marker;
import plannerd.sdk.handoff.Durable.Origin;

/**
 * An instance's side of hand-overs. M is the type of a message. Threads must not share it.
 *
 * <p>{@link #read} and {@link #receive} return null where what came has to wait: nothing was taken
 * then, and it is given again after the next {@link #see}.
 */
public final class Instance<M> {
  private final int id;
  private final Mode mode;
  private final Durable<M> durable;
  private Table table; // of the hand-over that is being carried out

  /** Makes the machine of an instance: as it was made durable last, or with an empty record. */
  public Instance(int id, Mode mode, Durable<M> durable) {
    this.id = id;
    this.mode = mode;
    this.durable = durable;
  }

  /** Returns what has to be made durable. */
  public Durable<M> durable() {
    return durable;
  }

  /** Tells the instance what the service says now. A view of an older time changes nothing. */
  public List<Action<M>> see(View v) {
    List<Action<M>> out = new ArrayList<>();
    Pending p = v.pending();
    if (durable.doing != null) {
      if (v.version() > durable.doing.base) { // every end of a hand-over makes a version
        finish(out);
      } else if (p == null || p.version() != durable.doing.version) {
        return out; // older than what is known
      }
    }
    if (p == null || p.version() <= durable.ended || !p.awaits().contains(id)) {
      return out;
    }
    table = v.table();
    boolean resent = false;
    if (durable.doing == null) {
      begin(v.version(), p);
    } else if (p.executorEpoch() > durable.doing.executorEpoch) {
      durable.doing.executorEpoch = p.executorEpoch();
      resent = true;
    }
    if (p.aborting() && !durable.doing.voted) {
      rollBack(out);
    } else if (resent) {
      owed(out);
    } else if (mayExport()) {
      out.add(Action.of(Do.EXPORT));
    }
    return out;
  }

  private void begin(long base, Pending p) {
    Doing<M> d = new Doing<>();
    d.version = p.version();
    d.base = base;
    d.routers = Map.copyOf(p.routers());
    d.awaits = List.copyOf(p.awaits());
    d.executorEpoch = p.executorEpoch();
    durable.doing = d;
  }

  /** Ends the hand-over: an instance that has not voted knows that it was committed. */
  private void finish(List<Action<M>> out) {
    Doing<M> d = durable.doing;
    if (!d.voted) {
      with(out, Do.FORGET, List.copyOf(d.given));
      with(out, Do.KEEP, d.takenKeys());
    }
    durable.ended = d.version;
    durable.doing = null;
    table = null;
  }

  /** Takes everything back, and votes. */
  private void rollBack(List<Action<M>> out) {
    Doing<M> d = durable.doing;
    with(out, Do.ACTIVATE, List.copyOf(d.given));
    with(out, Do.DROP, d.takenKeys());
    d.given.clear();
    d.taken.clear();
    d.voted = true;
    owed(out);
  }

  private static <M> void with(List<Action<M>> out, Do what, List<Key> keys) {
    if (!keys.isEmpty()) {
      out.add(Action.of(what, keys));
    }
  }

  /** Appends what the driver has to be told: it may have missed it. */
  private void owed(List<Action<M>> out) {
    Doing<M> d = durable.doing;
    if (d.voted) {
      out.add(Action.of(Do.SEND_VOTE, d.version, d.executorEpoch));
    } else if (d.exported && d.allEnded(id)) {
      out.add(Action.of(Do.SEND_ACK, d.version, d.executorEpoch));
    }
  }

  /** Reports whether all routers have announced the hand-over, and nothing was sent. */
  private boolean mayExport() {
    Doing<M> d = durable.doing;
    if (d == null || d.exported || d.voted) {
      return false;
    }
    for (Map.Entry<String, Long> r : d.routers.entrySet()) {
      Marker m = durable.markers.get(r.getKey());
      if (m == null || m.version() != d.version || m.epoch() < r.getValue()) {
        return false;
      }
    }
    return true;
  }

  /**
   * Reports whether a message may have been sent by one who did not know the hand-over: who
   * registered before that began, and has not announced it under the same epoch.
   */
  private boolean isEarly(Read<M> m) {
    Doing<M> d = durable.doing;
    if (d == null) {
      return false;
    }
    Long epoch = d.routers.get(m.router());
    return epoch != null && m.epoch() <= epoch
        && !new Marker(d.version, m.epoch()).equals(durable.markers.get(m.router()));
  }

  /**
   * Takes what comes next in a channel; null: it waits, as the instance has not seen the hand-over
   * yet that the channel announced.
   */
  public List<Action<M>> read(Read<M> m) {
    Doing<M> d = durable.doing;
    Marker last = durable.markers.get(m.router());
    if (last != null && last.version() > durable.ended && (d == null || last.version() > d.version)) {
      return null;
    }
    List<Action<M>> out = new ArrayList<>();
    if (m.marker() != 0) {
      durable.markers.put(m.router(), new Marker(m.marker(), m.epoch()));
      if (mayExport()) {
        out.add(Action.of(Do.EXPORT));
      }
    } else if (parks(m)) {
      d.parked.add(m);
    } else {
      out.add(Action.process(m, isEarly(m)));
    }
    return out;
  }

  /**
   * Reports whether a message followed its key here before the key's state, which any instance may
   * have that has not said that nothing more comes.
   */
  private boolean parks(Read<M> m) {
    Doing<M> d = durable.doing;
    if (mode == Mode.HOLDING || d == null) {
      return false;
    }
    Marker last = durable.markers.get(m.router());
    if (last == null || last.version() != d.version || d.has(m.key()) || d.allEnded(id)) {
      return false;
    }
    return table.moves(m.key()) && table.goal(m.key(), id) == id;
  }

  /** Processes the messages whose keys' states are there, or will not come. */
  private void unpark(List<Action<M>> out) {
    Doing<M> d = durable.doing;
    List<Read<M>> left = new ArrayList<>();
    boolean all = d.allEnded(id);
    for (Read<M> m : d.parked) {
      if (all || d.has(m.key())) {
        out.add(Action.process(m, false));
      } else {
        left.add(m);
      }
    }
    d.parked = left;
  }

  /**
   * Says what to send for EXPORT: it asks for each active key that the instance holds where it
   * belongs. State is called for those that go.
   */
  public List<Transfer> exports(Iterable<Key> keys, Function<Key, byte[]> state) {
    List<Transfer> out = new ArrayList<>();
    for (Key key : keys) {
      if (!table.moves(key)) {
        continue;
      }
      int to = table.goal(key, id);
      if (to != id) {
        out.add(new Transfer(durable.doing.version, id, to, false, key, state.apply(key)));
      }
    }
    return out;
  }

  /**
   * Tells the instance that the transfers of its EXPORT have been sent. Their keys are kept,
   * inactive, together with what it answers.
   */
  public List<Action<M>> exported(List<Transfer> sent) {
    Doing<M> d = durable.doing;
    sent.forEach(t -> d.given.add(t.key()));
    d.exported = true;
    List<Action<M>> out = new ArrayList<>();
    ends(out);
    owed(out);
    return out;
  }

  /** Appends the ends to all others. */
  private void ends(List<Action<M>> out) {
    Doing<M> d = durable.doing;
    for (int to : d.awaits) {
      if (to != id) {
        out.add(Action.of(Do.SEND_END, new Transfer(d.version, id, to, true, null, null)));
      }
    }
  }

  /** Takes a transfer; null: it waits. One that comes again changes nothing. */
  public List<Action<M>> receive(Transfer t) {
    Doing<M> d = durable.doing;
    List<Action<M>> out = new ArrayList<>();
    if (t.version() <= durable.ended) {
      return out;
    }
    if (d == null || t.version() > d.version) {
      return null;
    }
    if (d.voted) {
      return out;
    }
    if (t.end()) {
      if (d.ends.add(t.from())) {
        unpark(out);
        owed(out);
      }
    } else if (d.taken.add(new Origin(t.key(), t.from()))) {
      out.add(Action.of(Do.IMPORT, t));
      unpark(out);
    }
    return out;
  }

  /**
   * Tells the instance that its acknowledgement, or its vote, was refused, as its executor has a
   * higher epoch. It is a fact, not an order: it is said again.
   */
  public List<Action<M>> fenced(long version, long epoch) {
    List<Action<M>> out = new ArrayList<>();
    Doing<M> d = durable.doing;
    if (d != null && d.version == version) {
      d.executorEpoch = Math.max(d.executorEpoch, epoch);
      owed(out);
    }
    return out;
  }

  /**
   * Returns what an instance that was restarted from its record has to do, once it has seen what
   * the service says now: what was owed may not have been sent.
   */
  public List<Action<M>> resume() {
    List<Action<M>> out = new ArrayList<>();
    Doing<M> d = durable.doing;
    if (d == null) {
      return out;
    }
    if (mayExport()) {
      out.add(Action.of(Do.EXPORT));
      return out;
    }
    if (d.exported && !d.voted) {
      ends(out);
    }
    owed(out);
    return out;
  }
}
