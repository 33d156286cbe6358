package plannerd.kafka;

import java.util.Arrays;
import java.util.Map;

/**
 * A group as an assignor sees it. Items are what is assigned, in an order that all assignors share.
 *
 * @param members numbers of members by their names, by which members are ordered
 * @param capacity of each member
 * @param keys of each item in the table, of which the first counts that the table has
 * @param owner who has each item now; {@link Balance#NOBODY}: nobody has
 */
record Group(Map<String, Integer> members, int[] capacity, String[][] keys, int[] owner, Balance.Eligible eligible) {
  /** Returns who gets each item. */
  int[] assign(Placement table) {
    boolean[] placed = new boolean[capacity.length];
    table.names().forEach(name -> {
      Integer member = members.get(name);
      if (member != null) {
        placed[member] = true;
      }
    });
    return Balance.assign(capacity, wanted(table), owner, placed, eligible);
  }

  /** Returns where the table places each item; {@link Balance#NOBODY}: nowhere. */
  int[] wanted(Placement table) {
    int[] wanted = new int[keys.length];
    for (int i = 0; i < keys.length; i++) {
      wanted[i] = Balance.NOBODY;
      for (int k = 0; k < keys[i].length; k++) {
        String name = table.members().get(keys[i][k]);
        if (name != null) {
          wanted[i] = members.getOrDefault(name, Balance.NOBODY);
          break;
        }
      }
    }
    return wanted;
  }

  /** Reports whether a table would leave an assignment as it is. */
  boolean settled(int[] assigned, Placement table) {
    return Arrays.equals(assigned, new Group(members, capacity, keys, assigned, eligible).assign(table));
  }
}
