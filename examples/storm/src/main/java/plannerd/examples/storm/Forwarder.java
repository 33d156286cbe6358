package plannerd.examples.storm;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.apache.storm.tuple.Values;
import plannerd.sdk.handoff.Append;
import plannerd.sdk.handoff.Key;
import plannerd.sdk.handoff.Router;
import plannerd.sdk.router.View;

/** The router of a task that emits by {@link PlannerGrouping}. Its executor's thread alone uses it. */
final class Forwarder {
  private final Job job;
  private final Router<Values> machine;
  private final Map<Key, Long> heldSince = new HashMap<>();
  private final long epoch;
  private View seen;

  /** Registers the router; the table is read after that. */
  Forwarder(Job job, String name) throws Exception {
    this.job = job;
    machine = new Router<>(job.options.mode());
    epoch = job.register(name);
    machine.registered(epoch);
  }

  long epoch() {
    return epoch;
  }

  /** Returns where a message goes, or that it is held. */
  int take(List<Object> values) {
    Key key = Key.of((String) values.get(0));
    Append<Values> a = machine.take(key, (Values) values);
    if (a == null) {
      heldSince.putIfAbsent(key, System.nanoTime());
      return Tuples.NOWHERE;
    }
    return a.to();
  }

  /**
   * Looks for a new table, and has emitted what that makes due: messages that were held, and
   * markers, in this order. It reports whether there is a table at all.
   */
  boolean poll(Consumer<Values> emit) {
    View v = job.follower() == null ? null : job.follower().view();
    if (v == seen || v == null) {
      return v != null;
    }
    seen = v;
    for (Append<Values> a : machine.see(v.handover())) {
      if (a.marker() != 0) {
        emit.accept(Tuples.marker(a.marker(), a.epoch(), a.to()));
        continue;
      }
      Long since = heldSince.remove(a.key());
      if (since != null) {
        job.pauses.add(System.nanoTime() - since);
      }
      a.message().set(Tuples.TO, a.to());
      a.message().set(Tuples.SENT, System.nanoTime());
      emit.accept(a.message());
    }
    return true;
  }
}
