package plannerd.kafka;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;

class BalanceTest {
  private static final int N = Balance.NOBODY;

  private static int[] ones(int n) {
    int[] out = new int[n];
    Arrays.fill(out, 1);
    return out;
  }

  private static int[] nobody(int n) {
    int[] out = new int[n];
    Arrays.fill(out, N);
    return out;
  }

  private static int[] byNumber(int members, int... owner) {
    return Balance.assign(ones(members), nobody(owner.length), owner, new boolean[members], (m, i) -> true);
  }

  @Test
  void withoutTableByNumberAndSticky() {
    assertArrayEquals(new int[] {0, 1, 2, 0, 1, 2}, byNumber(3, N, N, N, N, N, N));
    assertArrayEquals(new int[] {2, 2, 1, 1, 0, 0}, byNumber(3, 2, 2, 1, 1, 0, 0), "all stay");
    assertArrayEquals(new int[] {0, 0, 1, 1, 2, 2}, byNumber(3, 0, 0, 1, 1, N, N), "who joins gets the free ones");
    assertArrayEquals(new int[] {0, 0, 1, 1, 2}, byNumber(3, 0, 0, 1, 1, 1), "the last of who has most");
  }

  @Test
  void tableGoesBeforeNumbers() {
    boolean[] known = {true, true};
    int[] wanted = {0, 0, 0, 0, 1};
    int[] owner = {1, 1, 0, 0, 1};
    assertArrayEquals(wanted, Balance.assign(ones(2), wanted, owner, known, (m, i) -> true));
  }

  @Test
  void whatTableLacksStaysOrGoesToFewest() {
    int[] wanted = {0, 0, 0, 1, N, N};
    int[] owner = {0, 0, 0, 1, 0, N};
    assertArrayEquals(new int[] {0, 0, 0, 1, 0, 1},
        Balance.assign(ones(2), wanted, owner, new boolean[] {true, true}, (m, i) -> true));
  }

  @Test
  void unknownMemberIsNotIdle() {
    int[] wanted = {0, 0, 0, 0, 0, 1};
    int[] at = Balance.assign(ones(3), wanted, wanted, new boolean[] {true, true, false}, (m, i) -> true);
    assertArrayEquals(new int[] {0, 0, 0, 2, 2, 1}, at);
    assertArrayEquals(at, Balance.assign(ones(3), wanted, at, new boolean[] {true, true, false}, (m, i) -> true));
  }

  @Test
  void capacityCountsByNumber() {
    int[] at = Balance.assign(new int[] {1, 3}, nobody(8), nobody(8), new boolean[2], (m, i) -> true);
    assertEquals(2, Arrays.stream(at).filter(m -> m == 0).count());
  }

  /** Of random groups: nothing is lost, what is known is obeyed, members unknown have work, and it stays so. */
  @Test
  void invariants() {
    Random random = new Random(4);
    for (int round = 0; round < 20_000; round++) {
      int members = 1 + random.nextInt(6);
      int items = random.nextInt(14);
      boolean[][] may = new boolean[members][items];
      int[] wanted = nobody(items);
      int[] owner = nobody(items);
      boolean[] placed = new boolean[members];
      boolean all = random.nextBoolean();
      for (int m = 0; m < members; m++) {
        placed[m] = random.nextBoolean();
        for (int i = 0; i < items; i++) {
          may[m][i] = all || random.nextBoolean();
        }
      }
      for (int i = 0; i < items; i++) {
        wanted[i] = random.nextInt(members + 1) - 1;
        owner[i] = random.nextInt(members + 1) - 1;
      }
      int[] at = Balance.assign(ones(members), wanted, owner, placed, (m, i) -> may[m][i]);
      check(members, may, wanted, placed, at, all);
      for (int k = 0; k < 3; k++) {
        at = Balance.assign(ones(members), wanted, at, placed, (m, i) -> may[m][i]);
        check(members, may, wanted, placed, at, all);
      }
      int[] again = Balance.assign(ones(members), wanted, at, placed, (m, i) -> may[m][i]);
      assertArrayEquals(at, again, "it stays as it is after some rounds");
    }
  }

  private static void check(int members, boolean[][] may, int[] wanted, boolean[] placed, int[] at, boolean all) {
    int[] count = new int[members];
    boolean table = false;
    for (int i = 0; i < at.length; i++) {
      if (at[i] == N) {
        for (int m = 0; m < members; m++) {
          assertTrue(!may[m][i], "an item is left over");
        }
        continue;
      }
      assertTrue(may[at[i]][i], "an item is where it must not be");
      count[at[i]]++;
      table |= wanted[i] != N && may[wanted[i]][i];
    }
    for (int i = 0; table && i < at.length; i++) {
      boolean known = wanted[i] != N && may[wanted[i]][i];
      assertTrue(!known || at[i] == wanted[i] || !placed[at[i]], "the table is not obeyed");
    }
    int most = Arrays.stream(count).max().orElse(0);
    for (int m = 0; all && m < members; m++) {
      assertTrue(table && placed[m] || count[m] >= most - 1, "a member is idle");
    }
  }

  /** Prints how long the assignment of a large group takes. */
  @Test
  void speed() {
    int members = 100;
    int items = 1000;
    Random random = new Random(7);
    int[] wanted = random.ints(items, 0, members).toArray();
    int[] owner = random.ints(items, 0, members).toArray();
    boolean[] known = new boolean[members];
    Arrays.fill(known, true);
    long begin = System.nanoTime();
    Balance.assign(ones(members), wanted, owner, known, (m, i) -> true);
    long table = System.nanoTime();
    int[] none = nobody(items);
    Balance.assign(ones(members), none, new int[items], new boolean[members], (m, i) -> true);
    System.out.printf("1000 items, 100 members, the first time: by a table %.1f ms, all from one member %.1f ms%n",
        (table - begin) / 1e6, (System.nanoTime() - table) / 1e6);
  }

  @Test
  void namesOfMembers() {
    String id = "-01234567-89ab-cdef-0123-456789abcdef";
    Map<String, Optional<String>> instances = Map.of("x" + id, Optional.of("i"), "c" + id, Optional.empty(),
        "d" + id, Optional.empty(), "d" + id.replace('0', '1'), Optional.empty(), "odd", Optional.empty());
    assertEquals(Map.of("i", "x" + id, "c", "c" + id, "d" + id, "d" + id, "d" + id.replace('0', '1'),
        "d" + id.replace('0', '1'), "odd", "odd"), Names.classic(instances), "a name that two have is nobody's");
    assertEquals(Map.of("#7", "x" + id, "#12", "12" + id), Names.classic(Map.of("x" + id, Optional.of("7"),
        "12" + id, Optional.empty())), "digits alone would be an id");
    assertEquals("#3", PlannerdTaskAssignor.name("3-StreamThread-1-consumer" + id));
    assertEquals("app", PlannerdTaskAssignor.name("app-StreamThread-2-consumer" + id));
    assertEquals("a-StreamThread-1", PlannerdTaskAssignor.name("a-StreamThread-1-StreamThread-2-consumer" + id));
    assertEquals("odd", PlannerdTaskAssignor.name("odd"));
  }
}
