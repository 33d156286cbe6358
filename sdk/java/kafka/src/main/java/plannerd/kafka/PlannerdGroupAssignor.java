package plannerd.kafka;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.common.Configurable;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.ConsumerGroupPartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.api.assignor.GroupSpec;
import org.apache.kafka.coordinator.group.api.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.api.assignor.MemberSubscription;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;

/**
 * Assigns the partitions of groups of the protocol of KIP-848 in the broker, as tables say, and where
 * they say nothing sticky by number. It reads tables and names of topics in the background: the
 * coordinator's thread never waits for them.
 *
 * <p>Configured by the broker's {@code group.consumer.assignors}, {@code plannerd.url},
 * {@code plannerd.operators} and what else README.md names, or system properties of these names. A
 * coordinator does not tell its assignor which group it is: the table is that of the operator that
 * places most of the group's partitions at its members.
 */
public final class PlannerdGroupAssignor implements ConsumerGroupPartitionAssignor, Configurable, AutoCloseable {
  /** The operators whose tables are followed, with commas between them. */
  static final String OPERATORS = "plannerd.operators";
  /** The member by which the controller has the coordinator assign anew. It gets nothing. */
  static final String CONTROLLER = "plannerd-kafka-group";

  private final List<Feed> feeds = new ArrayList<>();
  private TopicNames topics = TopicNames.NONE;

  @Override
  public void configure(Map<String, ?> configs) {
    Map<String, Object> all = new HashMap<>(configs);
    System.getProperties().stringPropertyNames().stream().filter(name -> name.startsWith("plannerd."))
        .forEach(name -> all.put(name, System.getProperty(name)));
    String operators = Settings.text(all, OPERATORS);
    if (operators == null || Settings.text(all, Settings.URL) == null) {
      return;
    }
    for (String operator : new TreeSet<>(List.of(operators.split("\\s*,\\s*")))) {
      feeds.add(new Feed(Settings.of(all, operator, operator)));
    }
    topics = TopicNames.of(all);
  }

  @Override
  public String name() {
    return "plannerd";
  }

  @Override
  public GroupAssignment assign(GroupSpec spec, SubscribedTopicDescriber describer) {
    TreeMap<String, String> ids = new TreeMap<>();
    Set<Uuid> subscribed = new HashSet<>();
    for (String id : spec.memberIds()) {
      MemberSubscription s = spec.memberSubscription(id);
      ids.put(Names.inTable(s.instanceId().orElse(id)), id);
      subscribed.addAll(s.subscribedTopicIds());
    }
    List<String> members = new ArrayList<>(ids.values());
    Map<Uuid, String> names = topics.of(subscribed);
    List<Uuid> order = new ArrayList<>(subscribed);
    order.sort(Comparator.comparing((Uuid id) -> names.getOrDefault(id, "")).thenComparing(Comparator.naturalOrder()));
    Partitions<Uuid> partitions = new Partitions<>(order, describer::numPartitions);
    Balance.Eligible may = partitions.subscribed(members.stream()
        .map(id -> spec.memberSubscription(id).subscribedTopicIds()).toList());
    int controller = new ArrayList<>(ids.keySet()).indexOf(CONTROLLER);
    int[] capacity = new int[members.size()];
    Arrays.fill(capacity, 1);
    Group group = new Group(Names.numbered(ids.keySet()), capacity, partitions.keys(names::get),
        owner(spec, members, partitions), (member, item) -> member != controller && may.test(member, item)
            && spec.isPartitionAssignable(partitions.topic(item), partitions.partition(item)));
    return answer(partitions, members, group.assign(table(group)));
  }

  private static int[] owner(GroupSpec spec, List<String> members, Partitions<Uuid> partitions) {
    int[] owner = new int[partitions.size()];
    Arrays.fill(owner, Balance.NOBODY);
    for (int m = 0; m < members.size(); m++) {
      for (Map.Entry<Uuid, Set<Integer>> e : spec.memberAssignment(members.get(m)).partitions().entrySet()) {
        for (int partition : e.getValue()) {
          int item = partitions.item(e.getKey(), partition);
          if (item != Balance.NOBODY) {
            owner[item] = m;
          }
        }
      }
    }
    return owner;
  }

  /** Returns the table that places most of the group's partitions at its members, the first of equals. */
  private Placement table(Group group) {
    Placement best = Placement.NONE;
    long most = 0;
    for (Feed feed : feeds) {
      Placement table = feed.now();
      long placed = Arrays.stream(group.wanted(table)).filter(member -> member != Balance.NOBODY).count();
      if (placed > most) {
        best = table;
        most = placed;
      }
    }
    return best;
  }

  private static GroupAssignment answer(Partitions<Uuid> partitions, List<String> members, int[] assigned) {
    Map<String, MemberAssignment> out = new HashMap<>();
    List<Map<Uuid, Set<Integer>>> sets = new ArrayList<>();
    for (String id : members) {
      Map<Uuid, Set<Integer>> set = new HashMap<>();
      sets.add(set);
      out.put(id, new Assigned(set));
    }
    for (int i = 0; i < assigned.length; i++) {
      if (assigned[i] != Balance.NOBODY) {
        sets.get(assigned[i]).computeIfAbsent(partitions.topic(i), t -> new HashSet<>()).add(partitions.partition(i));
      }
    }
    return new GroupAssignment(out);
  }

  private record Assigned(Map<Uuid, Set<Integer>> partitions) implements MemberAssignment {}

  @Override
  public void close() {
    feeds.forEach(Feed::close);
    topics.close();
  }
}
