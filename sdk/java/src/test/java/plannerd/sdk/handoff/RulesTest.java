package plannerd.sdk.handoff;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import plannerd.sdk.handoff.Action.Do;

/**
 * Holds each rule of the protocol on its own, in the shortest story that needs it: random histories
 * need luck to come by some of them. The key "moves" goes from instance 0 to instance 1, all other
 * keys stay at instance 2, and the routers "r" and "s" announce the plan.
 */
class RulesTest {
  private static final Key MOVES = Key.of("moves");
  private static final Key STAYS = Key.of("stays");

  private static final Table TABLE = new Table() {
    @Override
    public boolean moves(Key key) {
      return key.equals(MOVES);
    }

    @Override
    public int route(Key key) {
      return moves(key) ? 0 : 2;
    }

    @Override
    public int pending(Key key) {
      return moves(key) ? 1 : 2;
    }

    @Override
    public int goal(Key key, int at) {
      return moves(key) ? 1 : at;
    }
  };

  private static Pending plan(boolean aborting, long executor) {
    return new Pending(2, Map.of("r", 5L, "s", 7L), List.of(0, 1, 2), aborting, executor);
  }

  private static final View BEFORE = new View(1, TABLE, null);
  private static final View PENDING = new View(1, TABLE, plan(false, 1));
  private static final View ABORTING = new View(1, TABLE, plan(true, 1));
  private static final View AFTER = new View(2, TABLE, null);

  private static Read<String> marker(String router, long epoch) {
    return new Read<>(router, epoch, 2, null, null);
  }

  private static Read<String> message(String router, long epoch, String text) {
    return new Read<>(router, epoch, 0, MOVES, text);
  }

  private static Transfer state(int from, int to) {
    return new Transfer(2, from, to, false, MOVES, new byte[] {1});
  }

  private static Transfer end(int from, int to) {
    return new Transfer(2, from, to, true, null, null);
  }

  private static List<Do> done(List<Action<String>> actions) {
    assertNotNull(actions);
    return actions.stream().map(Action::what).toList();
  }

  private static Instance<String> instance(int id, Mode mode) {
    return new Instance<>(id, mode, new Durable<>());
  }

  /** An instance that has seen the plan, and read the markers of both routers. */
  private static Instance<String> announced(int id, Mode mode) {
    Instance<String> i = instance(id, mode);
    i.see(PENDING);
    i.read(marker("r", 5));
    i.read(marker("s", 7));
    return i;
  }

  /** An instance that has sent what leaves it. */
  private static Instance<String> exported(int id, Mode mode) {
    Instance<String> i = announced(id, mode);
    i.exported(i.exports(List.of(MOVES, STAYS), k -> new byte[] {1}));
    return i;
  }

  @Test
  void stateIsSentOnceAllRoutersHaveAnnouncedThePlan() {
    Instance<String> i = instance(0, Mode.HOLDING);
    assertEquals(List.of(), done(i.see(PENDING)));
    assertEquals(List.of(), done(i.read(marker("r", 5))));
    assertEquals(List.of(), done(i.read(marker("s", 6))), "a marker of an epoch before counts");
    assertEquals(List.of(Do.EXPORT), done(i.read(marker("s", 7))));
    assertEquals(List.of(state(0, 1).key()), i.exports(List.of(MOVES, STAYS), k -> new byte[] {1}).stream()
        .map(Transfer::key).toList());
  }

  @Test
  void aMarkerOfTheNextPlanWaitsUntilThePlanIsSeen() {
    Instance<String> i = instance(1, Mode.FOLLOWING);
    assertEquals(List.of(), done(i.read(marker("r", 5))));
    assertNull(i.read(message("r", 5, "behind the marker")));
    i.see(PENDING);
    assertEquals(List.of(), done(i.read(message("r", 5, "behind the marker"))), "it is parked");
  }

  @Test
  void messagesFromBeforeTheMarkerAreEarly() {
    Instance<String> i = instance(1, Mode.HOLDING);
    i.see(PENDING);
    assertEquals(true, i.read(message("r", 5, "before")).get(0).early());
    i.read(marker("r", 5));
    assertEquals(false, i.read(message("r", 5, "behind")).get(0).early());
    assertEquals(false, i.read(message("s", 8, "of who registered later")).get(0).early());
  }

  @Test
  void whatFollowsItsKeyWaitsForTheState() {
    Instance<String> i = announced(1, Mode.FOLLOWING);
    assertEquals(List.of(), done(i.read(message("r", 5, "first"))));
    assertEquals(List.of(Do.IMPORT, Do.PROCESS), done(i.receive(state(0, 1))));
    assertEquals(List.of(Do.PROCESS), done(i.read(message("r", 5, "second"))));
    Instance<String> without = announced(1, Mode.FOLLOWING); // nobody has state of the key
    without.read(message("r", 5, "first"));
    assertEquals(List.of(), done(without.receive(end(0, 1))));
    assertEquals(List.of(Do.PROCESS), done(without.receive(end(2, 1))));
  }

  @Test
  void anAcknowledgementWaitsForTheEndsOfAllOthers() {
    Instance<String> i = announced(1, Mode.HOLDING);
    assertEquals(List.of(Do.SEND_END, Do.SEND_END), done(i.exported(List.of())));
    assertEquals(List.of(), done(i.receive(end(0, 1))));
    assertEquals(List.of(), done(i.receive(end(0, 1))), "it came twice");
    assertEquals(List.of(Do.SEND_ACK), done(i.receive(end(2, 1))));
    Instance<String> slow = announced(1, Mode.HOLDING);
    slow.receive(end(0, 1));
    assertEquals(List.of(), done(slow.receive(end(2, 1))), "it has not sent its own");
    assertEquals(List.of(Do.SEND_END, Do.SEND_END, Do.SEND_ACK), done(slow.exported(List.of())));
  }

  @Test
  void transfersThatComeAgainOrTooLateChangeNothing() {
    Instance<String> i = instance(1, Mode.HOLDING);
    assertNull(i.receive(state(0, 1)), "the plan is not seen yet");
    i.see(PENDING);
    assertEquals(List.of(Do.IMPORT), done(i.receive(state(0, 1))));
    assertEquals(List.of(), done(i.receive(state(0, 1))));
    assertEquals(List.of(Do.KEEP), done(i.see(AFTER)));
    assertEquals(List.of(), done(i.receive(state(0, 1))), "the plan has ended");
  }

  @Test
  void whoHasVotedTakesNothingMore() {
    Instance<String> i = instance(1, Mode.HOLDING);
    i.see(PENDING);
    i.receive(state(0, 1));
    assertEquals(List.of(Do.DROP, Do.SEND_VOTE), done(i.see(ABORTING)));
    assertEquals(List.of(), done(i.receive(new Transfer(2, 2, 1, false, MOVES, new byte[] {1}))));
    assertEquals(List.of(), done(i.see(new View(3, TABLE, null))), "there is nothing left to end");
  }

  @Test
  void anAbortBringsBackWhatWasSent() {
    Instance<String> i = exported(0, Mode.HOLDING);
    assertEquals(List.of(Do.ACTIVATE, Do.SEND_VOTE), done(i.see(ABORTING)));
    assertEquals(List.of(), done(i.see(new View(3, TABLE, null))), "what is back is not forgotten");
    Instance<String> last = announced(0, Mode.HOLDING);
    last.see(ABORTING);
    assertEquals(List.of(Do.SEND_VOTE), done(last.resume()), "who has voted sends nothing");
  }

  @Test
  void whoHasNotVotedKnowsThatThePlanWasCommitted() {
    assertEquals(List.of(Do.FORGET), done(exported(0, Mode.HOLDING).see(AFTER)));
  }

  @Test
  void aRestartOwesWhatWasNotSent() {
    Instance<String> i = announced(0, Mode.HOLDING);
    Instance<String> again = new Instance<>(0, Mode.HOLDING, i.durable());
    assertEquals(List.of(Do.EXPORT), done(again.see(PENDING)));
    assertEquals(List.of(Do.EXPORT), done(again.resume()));
    again.exported(again.exports(List.of(MOVES), k -> new byte[] {1}));
    again.receive(end(1, 0));
    assertEquals(List.of(Do.SEND_END, Do.SEND_END), done(again.resume()));
    again.receive(end(2, 0));
    assertEquals(List.of(Do.SEND_END, Do.SEND_END, Do.SEND_ACK), done(again.resume()));
  }

  @Test
  void aSuccessorIsToldAgain() {
    Instance<String> i = exported(0, Mode.HOLDING);
    i.receive(end(1, 0));
    i.receive(end(2, 0));
    List<Action<String>> told = i.see(new View(1, TABLE, plan(false, 2)));
    assertEquals(List.of(Do.SEND_ACK), done(told));
    assertEquals(2, told.get(0).epoch());
    assertEquals(List.of(Do.SEND_ACK), done(i.fenced(2, 4)));
    assertEquals(4, i.fenced(2, 3).get(0).epoch(), "an epoch does not fall");
    assertEquals(List.of(), done(i.fenced(1, 9)), "it is about another plan");
  }

  private static Router<String> router(Mode mode) {
    Router<String> r = new Router<>(mode);
    r.registered(5);
    r.see(BEFORE);
    return r;
  }

  @Test
  void whatMovesIsHeldUntilThePlanEnds() {
    Router<String> r = router(Mode.HOLDING);
    assertEquals(new Append<>(0, 5, 0, MOVES, "a"), r.take(MOVES, "a"));
    assertEquals(List.of(2L, 2L, 2L), r.see(PENDING).stream().map(Append::marker).toList());
    assertNull(r.take(MOVES, "b"));
    assertEquals(new Append<>(2, 5, 0, STAYS, "c"), r.take(STAYS, "c"));
    assertEquals(List.of(), r.see(PENDING), "it is announced once");
    assertEquals(List.of(), r.see(BEFORE), "that is older");
    assertNull(r.take(MOVES, "d"));
    assertEquals(List.of(new Append<>(0, 5, 0, MOVES, "b"), new Append<>(0, 5, 0, MOVES, "d")), r.see(AFTER));
    assertEquals(0, r.holds());
  }

  @Test
  void whatFollowsGoesAfterTheMarker() {
    Router<String> r = router(Mode.FOLLOWING);
    r.see(PENDING);
    assertEquals(new Append<>(1, 5, 0, MOVES, "a"), r.take(MOVES, "a"));
    // Whoever learns that the plan is aborted has to announce nothing, and must not follow it.
    Router<String> late = router(Mode.FOLLOWING);
    assertEquals(List.of(), late.see(ABORTING));
    assertNull(late.take(MOVES, "b"));
  }

  @Test
  void whatIsHeldGoesBeforeTheNextMarker() {
    Router<String> r = router(Mode.HOLDING);
    r.see(PENDING);
    r.take(MOVES, "a");
    Table next = new Table() { // "moves" is done with, and "stays" moves
      @Override
      public boolean moves(Key key) {
        return key.equals(STAYS);
      }

      @Override
      public int route(Key key) {
        return moves(key) ? 2 : 1;
      }

      @Override
      public int pending(Key key) {
        return 1;
      }

      @Override
      public int goal(Key key, int at) {
        return moves(key) ? 1 : at;
      }
    };
    Pending p = new Pending(3, Map.of("r", 5L), List.of(1, 2), false, 1);
    assertEquals(List.of(new Append<>(1, 5, 0, MOVES, "a"), new Append<String>(1, 5, 3, null, null),
        new Append<String>(2, 5, 3, null, null)), r.see(new View(2, next, p)));
  }

  @Test
  void aRouterThatRegistersReadsTheTableFirst() {
    Router<String> r = router(Mode.HOLDING);
    r.see(PENDING);
    assertNull(r.take(MOVES, "held"));
    r.refused(List.of(new Append<>(2, 5, 0, STAYS, "refused"), new Append<String>(1, 5, 2, null, null)));
    assertThrows(IllegalStateException.class, () -> r.take(STAYS, "x"));
    assertThrows(IllegalStateException.class, () -> r.see(PENDING));
    r.registered(6);
    assertThrows(IllegalStateException.class, () -> r.take(STAYS, "x"));
    // It announces the plan anew, and what was refused comes before what was held.
    assertEquals(List.of(0L, 2L, 2L, 2L), r.see(PENDING).stream().map(Append::marker).toList());
    assertEquals(List.of("held"), r.see(AFTER).stream().map(Append::message).toList());
    Router<String> s = router(Mode.HOLDING);
    s.see(PENDING);
    s.take(MOVES, "second");
    s.refused(List.of(new Append<>(0, 5, 0, MOVES, "first")));
    s.registered(6);
    s.see(PENDING);
    assertEquals(List.of("first", "second"), s.see(AFTER).stream().map(Append::message).toList());
  }
}
