package plannerd.kafka;

import java.util.Arrays;
import java.util.function.IntPredicate;

/**
 * Gives items (partitions or tasks) to members: an item that the table places goes there, any other
 * stays where it is or goes to who has the fewest. Members of whom the table says nothing get as many
 * as others, so that nobody is idle until the next plan; without a table these are all, and the
 * assignment is sticky by number.
 *
 * <p>Items and members are numbers from 0. The same input gives the same result.
 */
final class Balance {
  /** Which member may have which item. */
  @FunctionalInterface
  interface Eligible {
    boolean test(int member, int item);
  }

  static final int NOBODY = -1;

  private final int[] capacity;
  private final int[] wanted;
  private final int[] owner;
  private final Eligible eligible;
  private final int[] at;
  private final int[] count;

  private Balance(int[] capacity, int[] wanted, int[] owner, Eligible eligible) {
    this.capacity = capacity;
    this.wanted = wanted.clone();
    this.owner = owner.clone();
    this.eligible = eligible;
    at = new int[wanted.length];
    count = new int[capacity.length];
  }

  /**
   * Returns who gets each item; {@link #NOBODY} where nobody may have it.
   *
   * @param capacity of each member, at least 1: how many items it gets by number in relation to others.
   *     Members are in the order of their names, which decides between equals
   * @param wanted where the table places each item; {@link #NOBODY}: nowhere
   * @param owner who has each item now; {@link #NOBODY}: nobody has
   * @param placed which members the table knows
   */
  static int[] assign(int[] capacity, int[] wanted, int[] owner, boolean[] placed, Eligible eligible) {
    Balance b = new Balance(capacity, wanted, owner, eligible);
    boolean table = b.keepOrPlace();
    for (int i = 0; i < b.at.length; i++) {
      int item = i;
      int to = b.at[i] == NOBODY ? b.fewest(m -> eligible.test(m, item)) : NOBODY;
      if (to != NOBODY) {
        b.give(i, to);
      }
    }
    b.employ(table ? placed : new boolean[capacity.length]);
    return b.at;
  }

  /** Gives away what the table places and what somebody has, and reports whether the table places anything. */
  private boolean keepOrPlace() {
    boolean table = false;
    Arrays.fill(at, NOBODY);
    for (int i = 0; i < at.length; i++) {
      wanted[i] = may(wanted[i], i) ? wanted[i] : NOBODY;
      owner[i] = may(owner[i], i) ? owner[i] : NOBODY;
      int to = wanted[i] != NOBODY ? wanted[i] : owner[i];
      if (to != NOBODY) {
        give(i, to);
      }
      table |= wanted[i] != NOBODY;
    }
    return table;
  }

  private boolean may(int member, int item) {
    return member != NOBODY && eligible.test(member, item);
  }

  private void give(int item, int member) {
    if (at[item] != NOBODY) {
      count[at[item]]--;
    }
    at[item] = member;
    count[member]++;
  }

  /** Returns who of some has the fewest for its capacity, the first of equals; {@link #NOBODY}: there is none. */
  private int fewest(IntPredicate of) {
    int best = NOBODY;
    for (int m = 0; m < capacity.length; m++) {
      if (of.test(m) && (best == NOBODY || fewer(count[m], m, count[best], best))) {
        best = m;
      }
    }
    return best;
  }

  private boolean fewer(int items, int member, int others, int other) {
    return (long) items * capacity[other] < (long) others * capacity[member];
  }

  /** Gives members of whom the table says nothing what others have too many of. */
  private void employ(boolean[] placed) {
    boolean[] full = placed.clone();
    for (int m = fewest(k -> !full[k]); m != NOBODY; m = fewest(k -> !full[k])) {
      int item = spare(m);
      if (item == NOBODY) {
        full[m] = true;
      } else {
        give(item, m);
      }
    }
  }

  /**
   * Returns which item a member should get of who has the most, and at least two more, of those who have
   * one that it may have; {@link #NOBODY}: it has enough. It is the one that disturbs least, and of equals
   * the last.
   */
  private int spare(int member) {
    boolean[] passed = new boolean[capacity.length];
    passed[member] = true;
    while (true) {
      int giver = NOBODY;
      for (int m = 0; m < capacity.length; m++) {
        boolean more = giver == NOBODY || fewer(count[giver], giver, count[m], m);
        giver = more && !passed[m] ? m : giver;
      }
      if (giver == NOBODY || !fewer(count[member] + 1, member, count[giver], giver)) {
        return NOBODY;
      }
      int best = NOBODY;
      for (int i = at.length - 1; i >= 0; i--) {
        boolean can = at[i] == giver && eligible.test(member, i);
        if (can && (best == NOBODY || disturbance(i, member) < disturbance(best, member))) {
          best = i;
        }
      }
      if (best != NOBODY) {
        return best;
      }
      passed[giver] = true;
    }
  }

  private int disturbance(int item, int member) {
    if (owner[item] == member) {
      return 0;
    }
    if (owner[item] == NOBODY) {
      return 1;
    }
    return wanted[item] == NOBODY ? 2 : 3;
  }
}
