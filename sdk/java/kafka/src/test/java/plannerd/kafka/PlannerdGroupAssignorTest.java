package plannerd.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.api.assignor.GroupSpec;
import org.apache.kafka.coordinator.group.api.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.api.assignor.MemberSubscription;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.junit.jupiter.api.Test;

/** The coordinator's side without a coordinator; RealGroupsTest has one. */
class PlannerdGroupAssignorTest {
  private static final Uuid TOPIC = new Uuid(7, 7);

  private record Member(Optional<String> rackId, Optional<String> instanceId, Set<Uuid> subscribedTopicIds)
      implements MemberSubscription {}

  private record Has(Map<Uuid, Set<Integer>> partitions) implements MemberAssignment {}

  /** A group of members that all subscribe to one topic. */
  private record Spec(Map<String, Optional<String>> instances, GroupAssignment now) implements GroupSpec {
    @Override
    public Collection<String> memberIds() {
      return instances.keySet();
    }

    @Override
    public SubscriptionType subscriptionType() {
      return SubscriptionType.HOMOGENEOUS;
    }

    @Override
    public boolean isPartitionAssigned(Uuid topic, int partition) {
      return false;
    }

    @Override
    public boolean isPartitionAssignable(Uuid topic, int partition) {
      return true;
    }

    @Override
    public MemberSubscription memberSubscription(String id) {
      return new Member(Optional.empty(), instances.get(id), Set.of(TOPIC));
    }

    @Override
    public MemberAssignment memberAssignment(String id) {
      return now.members().getOrDefault(id, new Has(Map.of()));
    }
  }

  private static SubscribedTopicDescriber partitions(int n) {
    return new SubscribedTopicDescriber() {
      @Override
      public int numPartitions(Uuid topic) {
        return topic.equals(TOPIC) ? n : -1;
      }

      @Override
      public Set<String> racksForPartition(Uuid topic, int partition) {
        return Set.of();
      }
    };
  }

  private static List<Integer> sizes(GroupAssignment a) {
    return a.members().values().stream().map(m -> m.partitions().values().stream().mapToInt(Set::size).sum())
        .sorted().toList();
  }

  /** Without a server, and with one that nobody can reach, it answers at once by number; the controller has nothing. */
  @Test
  void away() {
    Map<String, Optional<String>> members = new HashMap<>(Map.of("x", Optional.of("a"), "y", Optional.of("b"),
        "z", Optional.empty(), "c", Optional.of(PlannerdGroupAssignor.CONTROLLER)));
    for (Map<String, String> configs : List.of(Map.<String, String>of(), Map.of("plannerd.url", "http://127.0.0.1:1",
        "plannerd.operators", "work", "plannerd.admin.bootstrap.servers", "127.0.0.1:1"))) {
      try (PlannerdGroupAssignor a = new PlannerdGroupAssignor()) {
        a.configure(configs);
        GroupAssignment at = a.assign(new Spec(members, new GroupAssignment(Map.of())), partitions(6));
        assertEquals(List.of(0, 2, 2, 2), sizes(at));
        assertEquals(Map.of(), at.members().get("c").partitions());
        GroupAssignment again = a.assign(new Spec(members, at), partitions(6));
        assertEquals(at, again, "all stay");
        Map<String, Optional<String>> fewer = new HashMap<>(members);
        fewer.remove("x");
        assertEquals(List.of(0, 3, 3), sizes(a.assign(new Spec(fewer, at), partitions(6))));
        assertEquals(List.of(), sizes(a.assign(new Spec(Map.of(), at), partitions(6))));
      }
    }
  }

  /** Prints how long a group of 1 000 partitions and 100 members takes. */
  @Test
  void speed() {
    Map<String, Optional<String>> members = new TreeMap<>();
    Map<String, MemberAssignment> now = new HashMap<>();
    Map<String, Set<Integer>> has = new HashMap<>();
    for (int m = 0; m < 100; m++) {
      members.put("id" + m, Optional.of("m" + m));
      has.put("id" + m, new HashSet<>());
      now.put("id" + m, new Has(Map.of(TOPIC, has.get("id" + m))));
    }
    Random random = new Random(2);
    for (int p = 0; p < 1000; p++) {
      has.get("id" + random.nextInt(100)).add(p);
    }
    try (PlannerdGroupAssignor a = new PlannerdGroupAssignor()) {
      a.configure(Map.of());
      Spec spec = new Spec(members, new GroupAssignment(now));
      double[] times = new double[21];
      for (int i = 0; i < times.length; i++) {
        long begin = System.nanoTime();
        assertEquals(10, sizes(a.assign(spec, partitions(1000))).get(99));
        times[i] = (System.nanoTime() - begin) / 1e6;
      }
      double first = times[0];
      Arrays.sort(times);
      System.out.printf("1000 partitions, 100 members in a coordinator, by number: first %.1f ms, median %.1f ms%n",
          first, times[times.length / 2]);
    }
  }
}
