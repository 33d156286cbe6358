package plannerd.sdk.handoff;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * The driver's side of a hand-over: it tells the service what instances say. The service keeps all
 * that must not be lost, so a successor begins with the service's view and a higher epoch. Threads
 * must not share it.
 */
public final class Driver {
  /** What drivers do. */
  public enum Post {
    /** Acknowledge for an instance. */
    ACK,
    /** Begin to abort. */
    ABORT,
    /** End the abort: all instances are back where they were. */
    ROLLED_BACK,
    /** Announce the hand-over for a router that is lost. */
    FENCE
  }

  /**
   * Something that a driver tells the service, or appends to channels.
   *
   * @param version of the hand-over
   * @param epoch of the driver
   * @param instance the one that acknowledges, of ACK
   * @param router has its channels fenced, by FENCE: a marker of the hand-over is appended for it,
   *     under routerEpoch, to the channel of each of to
   */
  public record Call(Post what, long version, long epoch, int instance, String router, long routerEpoch,
      List<Integer> to) {}

  private final long epoch;
  private Pending pending;
  private boolean aborts; // asked for, and not begun
  // What instances have said of the newest hand-over that they have said anything of. They may see
  // it before the driver does.
  private long version;
  private final Set<Integer> acks = new TreeSet<>();
  private final Set<Integer> votes = new HashSet<>();
  private final Map<String, Long> fences = new HashMap<>(); // by router that is lost: the epoch it was fenced by

  /** Makes a driver with an epoch of its own, by which it has started, or taken over, plans. */
  public Driver(long epoch) {
    this.epoch = epoch;
  }

  /** Reports whether no newer hand-over is known. What was said of an older one counts no more. */
  private boolean isNewest(long of) {
    if (of > version) {
      version = of;
      acks.clear();
      votes.clear();
      fences.clear();
    }
    return of == version;
  }

  /** Reports whether the driver has seen the newest hand-over, and not its end. */
  private boolean isPending() {
    return pending != null && pending.version() == version;
  }

  /**
   * Tells the driver what is pending, and returns what is to be done now; null: there is nothing
   * more for it to do, as the hand-over has ended or has another executor.
   */
  public List<Call> see(Pending p) {
    if (p == null || p.executorEpoch() > epoch) {
      aborts = aborts && pending == null;
      pending = null;
      return null;
    }
    if (!isNewest(p.version())) {
      return List.of();
    }
    boolean isNew = pending == null || pending.version() != p.version();
    pending = p;
    if (p.aborting()) {
      aborts = false;
      return rolledBack();
    }
    List<Call> calls = new ArrayList<>();
    if (aborts) {
      calls.add(call(Post.ABORT, 0));
    }
    if (isNew) {
      acks.forEach(instance -> calls.add(call(Post.ACK, instance)));
    }
    return calls;
  }

  private Call call(Post what, int instance) {
    return new Call(what, pending.version(), epoch, instance, null, 0, List.of());
  }

  /** Asks for the hand-over to be aborted, which must be one with routers that hold. */
  public List<Call> abort() {
    if (pending != null && pending.aborting()) {
      return List.of();
    }
    aborts = true;
    return pending == null ? List.of() : List.of(call(Post.ABORT, 0));
  }

  /**
   * Takes the acknowledgement of an instance. One of a hand-over that the driver has not seen yet is
   * kept until it does.
   */
  public List<Call> acked(int instance, long of) {
    if (!isNewest(of)) {
      return List.of();
    }
    acks.add(instance);
    return isPending() && !pending.aborting() ? List.of(call(Post.ACK, instance)) : List.of();
  }

  /**
   * Takes the vote of an instance. One of a hand-over that the driver has not seen yet is kept until
   * it does.
   */
  public List<Call> voted(int instance, long of) {
    if (!isNewest(of)) {
      return List.of();
    }
    votes.add(instance);
    return rolledBack();
  }

  /** Ends the abort where all have voted. */
  private List<Call> rolledBack() {
    boolean all = isPending() && pending.aborting() && votes.containsAll(pending.awaits());
    return all ? List.of(call(Post.ROLLED_BACK, 0)) : List.of();
  }

  /**
   * Tells the driver that a router of the hand-over has let its lease run out, and that the driver
   * has registered in its place, by a higher epoch.
   */
  public List<Call> lost(String router, long routerEpoch) {
    if (!isPending() || !pending.routers().containsKey(router) || fences.getOrDefault(router, 0L) >= routerEpoch) {
      return List.of();
    }
    fences.put(router, routerEpoch);
    List<Integer> to = List.copyOf(pending.awaits());
    return List.of(new Call(Post.FENCE, pending.version(), epoch, 0, router, routerEpoch, to));
  }
}
