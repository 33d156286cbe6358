package plannerd.kafka;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Configurable;
import org.apache.kafka.common.TopicPartition;

/**
 * Assigns the partitions of a group of the classic protocol as an operator's table says, and where it
 * says nothing sticky by number. It is cooperative: a partition that goes elsewhere is first revoked by
 * who has it, and given away in the rebalance after that.
 *
 * <p>Configured by {@code partition.assignment.strategy}, {@code plannerd.url} and what else README.md
 * names. A {@link PlannerdConsumer} asks for a rebalance when the table is another.
 */
public final class PlannerdAssignor implements ConsumerPartitionAssignor, Configurable {
  /** Begins the user data of assignments; the leader's instance id follows. */
  private static final String LEADER = "plannerd leader ";

  private Watch watch = Watch.of(Map.of());
  private String instance; // null: none

  @Override
  public void configure(Map<String, ?> configs) {
    watch = Watch.of(configs);
    instance = Settings.text(configs, ConsumerConfig.GROUP_INSTANCE_ID_CONFIG);
  }

  @Override
  public String name() {
    return "plannerd";
  }

  /** Cooperative; eager while a group changes from an assignor that knows nothing else. */
  @Override
  public List<RebalanceProtocol> supportedProtocols() {
    return List.of(RebalanceProtocol.COOPERATIVE, RebalanceProtocol.EAGER);
  }

  @Override
  public GroupAssignment assign(Cluster metadata, GroupSubscription groupSubscription) {
    Map<String, Subscription> subscriptions = groupSubscription.groupSubscription();
    Map<String, Optional<String>> instances = new HashMap<>();
    TreeSet<String> topics = new TreeSet<>();
    subscriptions.forEach((id, s) -> {
      instances.put(id, s.groupInstanceId());
      topics.addAll(s.topics());
    });
    TreeMap<String, String> ids = Names.classic(instances);
    List<Subscription> members = ids.values().stream().map(subscriptions::get).toList();
    Partitions<String> partitions = new Partitions<>(topics, topic -> {
      Integer n = metadata.partitionCountForTopic(topic);
      return n == null ? 0 : n;
    });
    Claims claims = new Claims(partitions, members);
    int[] capacity = new int[members.size()];
    Arrays.fill(capacity, 1);
    Group group = new Group(Names.numbered(ids.keySet()), capacity, partitions.keys(topic -> topic), claims.owner,
        partitions.subscribed(members.stream().map(Subscription::topics).toList()));
    int[] assigned = group.assign(watch.table());
    boolean gives = IntStream.range(0, assigned.length)
        .anyMatch(i -> assigned[i] != Balance.NOBODY && claims.byOther(i, assigned[i]));
    watch.leads(table -> group.settled(assigned, table), gives);
    return answer(partitions, new ArrayList<>(ids.values()), assigned, claims);
  }

  private GroupAssignment answer(Partitions<String> partitions, List<String> ids, int[] assigned, Claims claims) {
    List<List<TopicPartition>> lists = new ArrayList<>();
    ids.forEach(id -> lists.add(new ArrayList<>()));
    for (int i = 0; i < assigned.length; i++) {
      if (assigned[i] != Balance.NOBODY && !claims.byOther(i, assigned[i])) {
        lists.get(assigned[i]).add(new TopicPartition(partitions.topic(i), partitions.partition(i)));
      }
    }
    ByteBuffer leader = instance == null ? null : StandardCharsets.UTF_8.encode(LEADER + instance);
    Map<String, Assignment> out = new HashMap<>();
    for (int m = 0; m < lists.size(); m++) {
      out.put(ids.get(m), new Assignment(lists.get(m), leader));
    }
    return new GroupAssignment(out);
  }

  /**
   * A leader with an instance id that is restarted keeps its assignment and leads on, without being
   * asked to assign. It learns of that here.
   */
  @Override
  public void onAssignment(Assignment assignment, ConsumerGroupMetadata metadata) {
    ByteBuffer data = assignment.userData();
    if (instance != null && data != null
        && StandardCharsets.UTF_8.decode(data.duplicate()).toString().equals(LEADER + instance)) {
      watch.leadsOn(metadata.generationId());
    }
  }

  /** Who says that it has which partition. */
  private static final class Claims {
    private final int[] owner; // that of the highest generation; nobody where two of one generation say so
    private final int[] generation;
    private final boolean[] claimed;

    Claims(Partitions<String> partitions, List<Subscription> members) {
      owner = new int[partitions.size()];
      generation = new int[partitions.size()];
      claimed = new boolean[partitions.size()];
      Arrays.fill(owner, Balance.NOBODY);
      for (int m = 0; m < members.size(); m++) {
        int g = members.get(m).generationId().orElse(-1);
        for (TopicPartition p : members.get(m).ownedPartitions()) {
          add(partitions.item(p.topic(), p.partition()), m, g);
        }
      }
    }

    private void add(int item, int member, int g) {
      if (item == Balance.NOBODY) {
        return; // the partition is gone
      }
      if (!claimed[item] || g > generation[item]) {
        owner[item] = member;
        generation[item] = g;
      } else if (g == generation[item]) {
        owner[item] = Balance.NOBODY;
      }
      claimed[item] = true;
    }

    /** Reports whether a partition has to be revoked before a member may have it. */
    boolean byOther(int item, int member) {
      return claimed[item] && owner[item] != member;
    }
  }
}
