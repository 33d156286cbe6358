package plannerd.sdk.handoff;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import plannerd.sdk.handoff.Driver.Call;
import plannerd.sdk.handoff.Driver.Post;

/** A driver takes words in any order, and only those of the newest hand-over. */
class DriverTest {
  /** Something that happens to a driver, and its answer. */
  private interface Step extends Function<Driver, List<Call>> {}

  private static Pending plan(long version, boolean aborting) {
    return new Pending(version, Map.of("r", 1L), List.of(0, 1), aborting, 7);
  }

  private static Step see(long version, boolean aborting) {
    return d -> d.see(plan(version, aborting));
  }

  private static Step ended() {
    return d -> d.see(null);
  }

  private static Step acked(int instance, long version) {
    return d -> d.acked(instance, version);
  }

  private static Step voted(int instance, long version) {
    return d -> d.voted(instance, version);
  }

  private static Step lost() {
    return d -> d.lost("r", 2);
  }

  private static Call call(Post what, long version, int instance) {
    return new Call(what, version, 7, instance, null, 0, List.of());
  }

  /** Demands what the last of some steps answers. */
  private static void expect(List<Call> want, Step... steps) {
    Driver d = new Driver(7);
    List<Call> got = List.of();
    for (Step s : steps) {
      got = s.apply(d);
    }
    assertEquals(want, got);
  }

  @Test
  void acknowledgementsAreTold() {
    expect(List.of(call(Post.ACK, 2, 1)), see(2, false), acked(1, 2));
    expect(List.of(call(Post.ACK, 2, 1)), see(2, false), acked(1, 2), acked(1, 2));
    expect(List.of(), see(3, false), acked(1, 2));
    expect(List.of(), see(2, false), ended(), acked(1, 2));
  }

  /** Instances may see a hand-over, and be done, before the driver sees it. */
  @Test
  void whatComesEarlyIsKept() {
    expect(List.of(call(Post.ACK, 2, 0), call(Post.ACK, 2, 1)), acked(1, 2), acked(0, 2), acked(1, 2), see(2, false));
    expect(List.of(call(Post.ACK, 3, 1)), see(2, false), acked(0, 2), acked(1, 3), see(3, false));
    expect(List.of(), acked(1, 2), see(2, false), see(2, false));
    expect(List.of(), acked(1, 3), see(2, false), lost());
    expect(List.of(), acked(0, 2), see(2, true), acked(1, 2));
    expect(List.of(call(Post.ROLLED_BACK, 2, 0)), voted(0, 2), voted(1, 2), see(2, true));
  }

  @Test
  void votesEndAnAbort() {
    expect(List.of(call(Post.ROLLED_BACK, 2, 0)), see(2, true), voted(0, 2), voted(1, 2));
    expect(List.of(), see(2, true), voted(0, 2));
    expect(List.of(), voted(0, 1), voted(1, 1), see(2, true));
  }

  @Test
  void anAbortIsOfOnePlan() {
    expect(List.of(call(Post.ABORT, 2, 0)), Driver::abort, ended(), see(2, false));
    expect(List.of(call(Post.ABORT, 3, 0)), see(2, false), Driver::abort, see(3, false));
    expect(List.of(), see(2, false), Driver::abort, see(2, true), see(4, false));
    expect(List.of(call(Post.ABORT, 2, 0)), see(2, false), Driver::abort);
    // It came too late.
    Driver d = new Driver(7);
    see(2, false).apply(d);
    d.abort();
    ended().apply(d);
    assertEquals(List.of(), see(4, false).apply(d));
  }

  @Test
  void lostRoutersAreFencedOnce() {
    Call fence = new Call(Post.FENCE, 2, 7, 0, "r", 2, List.of(0, 1));
    expect(List.of(fence), see(2, false), lost());
    expect(List.of(), see(2, false), lost(), lost());
    expect(List.of(), see(2, false), ended(), lost());
  }
}
