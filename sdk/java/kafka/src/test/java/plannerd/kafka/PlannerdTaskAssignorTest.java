package plannerd.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.errors.TaskAssignmentException;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.ApplicationState;
import org.apache.kafka.streams.processor.assignment.AssignmentConfigs;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsAssignment;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsAssignment.AssignedTask;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsState;
import org.apache.kafka.streams.processor.assignment.ProcessId;
import org.apache.kafka.streams.processor.assignment.TaskAssignmentUtils;
import org.apache.kafka.streams.processor.assignment.TaskAssignor;
import org.apache.kafka.streams.processor.assignment.TaskInfo;
import org.apache.kafka.streams.processor.assignment.TaskTopicPartition;
import org.apache.kafka.streams.state.HostInfo;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Applications without a broker; RealGroupsTest has one. */
class PlannerdTaskAssignorTest {
  private FakePlannerd plannerd;
  private final Application application = new Application();
  private String timeout = "10000";
  private boolean again; // the last assignment wants a rebalance to follow

  @BeforeEach
  void start() throws Exception {
    plannerd = new FakePlannerd();
  }

  @AfterEach
  void stop() {
    plannerd.close();
  }

  /** A process with one thread. */
  private final class Process implements KafkaStreamsState {
    private final ProcessId id = new ProcessId(new UUID(1, application.processes.size()));
    private final String name;
    private final SortedSet<TaskId> active = new TreeSet<>();
    private final SortedSet<TaskId> standby = new TreeSet<>();
    private final Map<TaskId, Long> lags = new HashMap<>();
    private int threads = 1;

    Process(String name) {
      this.name = name;
      application.processes.put(id, this);
    }

    Process runs(int... tasks) {
      for (int t : tasks) {
        active.add(new TaskId(0, t));
        lags.put(new TaskId(0, t), -2L);
      }
      return this;
    }

    Process lacks(int task, long messages) {
      standby.add(new TaskId(0, task));
      lags.put(new TaskId(0, task), messages);
      return this;
    }

    @Override
    public ProcessId processId() {
      return id;
    }

    @Override
    public int numProcessingThreads() {
      return threads;
    }

    @Override
    public SortedSet<String> consumerClientIds() {
      return new TreeSet<>(Set.of(name + "-StreamThread-1-consumer-" + id.id()));
    }

    @Override
    public SortedSet<TaskId> previousActiveTasks() {
      return active;
    }

    @Override
    public SortedSet<TaskId> previousStandbyTasks() {
      return standby;
    }

    @Override
    public long lagFor(TaskId task) {
      return statefulTasksToLagSums().get(task);
    }

    @Override
    public SortedSet<TaskId> prevTasksByLag(String consumer) {
      return new TreeSet<>(active);
    }

    @Override
    public Map<TaskId, Long> statefulTasksToLagSums() {
      if (application.blind) {
        throw new UnsupportedOperationException();
      }
      return lags;
    }

    @Override
    public Optional<HostInfo> hostInfo() {
      return Optional.empty();
    }

    @Override
    public Map<String, String> clientTags() {
      return Map.of();
    }

    @Override
    public Optional<String> rackId() {
      return Optional.empty();
    }
  }

  private record Partition(TopicPartition topicPartition, boolean isSource, boolean isChangelog)
      implements TaskTopicPartition {
    @Override
    public Optional<Set<String>> rackIds() {
      return Optional.empty();
    }
  }

  private record Task(TaskId id, boolean isStateful, Set<String> stateStoreNames,
      Set<TaskTopicPartition> topicPartitions) implements TaskInfo {}

  private static final class Application implements ApplicationState {
    private final Map<ProcessId, KafkaStreamsState> processes = new TreeMap<>();
    private final Map<TaskId, TaskInfo> tasks = new TreeMap<>();
    private int standbys;
    private int warmups = 2;
    private boolean blind; // lags cannot be told
    private boolean broken;

    Application stateful(int n, boolean stateful) {
      for (int t = 0; t < n; t++) {
        TaskId id = new TaskId(0, t);
        Set<TaskTopicPartition> partitions = new HashSet<>();
        partitions.add(new Partition(new TopicPartition("t", t), true, false));
        if (stateful) {
          partitions.add(new Partition(new TopicPartition("a-changelog", t), false, true));
        }
        tasks.put(id, new Task(id, stateful, stateful ? Set.of("s") : Set.of(), partitions));
      }
      return this;
    }

    @Override
    public Map<ProcessId, KafkaStreamsState> kafkaStreamsStates(boolean lags) {
      if (broken) {
        broken = false;
        throw new IllegalStateException("a mistake of somebody");
      }
      if (lags && blind) {
        throw new TaskAssignmentException("the end offsets cannot be read");
      }
      return processes;
    }

    @Override
    public AssignmentConfigs assignmentConfigs() {
      return new AssignmentConfigs(100L, warmups, standbys, 60_000L, List.of());
    }

    @Override
    public Map<TaskId, TaskInfo> allTasks() {
      return tasks;
    }
  }

  private PlannerdTaskAssignor assignor() {
    PlannerdTaskAssignor a = new PlannerdTaskAssignor();
    a.configure(Map.of("group.id", "work", "plannerd.url", plannerd.url(), "plannerd.timeout.ms", timeout));
    return a;
  }

  /** What each process has: active tasks, and those of which it keeps a copy after a slash. */
  private Map<String, String> assigned() {
    TaskAssignor.TaskAssignment out = assignor().assign(application);
    assertEquals(TaskAssignor.AssignmentError.NONE, TaskAssignmentUtils.validateTaskAssignment(application, out));
    Map<String, String> text = new TreeMap<>();
    again = false;
    for (KafkaStreamsAssignment a : out.assignment()) {
      List<Integer> active = new ArrayList<>();
      List<Integer> standby = new ArrayList<>();
      a.tasks().values().stream().sorted((x, y) -> x.id().compareTo(y.id()))
          .forEach(t -> (t.type() == AssignedTask.Type.ACTIVE ? active : standby).add(t.id().partition()));
      text.put(((Process) application.processes.get(a.processId())).name, active + "/" + standby);
      again |= a.followupRebalanceDeadline().isPresent();
    }
    return text;
  }

  @Test
  void statelessTasksGoByTable() {
    application.stateful(4, false);
    new Process("a").runs(0, 1, 2, 3);
    new Process("b");
    plannerd.commit(Map.of("0_0", "a", "0_1", "b", "t/2", "b", "t/3", "a"));
    assertEquals(Map.of("a", "[0, 3]/[]", "b", "[1, 2]/[]"), assigned(), "by task, or by source partition");
    assertFalse(again);
  }

  @Test
  void moveWaitsUntilNewProcessHasCaughtUp() {
    application.stateful(4, true);
    new Process("a").runs(0, 1, 2, 3);
    Process b = new Process("b").lacks(1, 40);
    plannerd.commit(Map.of("0_0", "b", "0_1", "b", "0_2", "a", "0_3", "a"));
    assertEquals(Map.of("a", "[0, 2, 3]/[]", "b", "[1]/[0]"), assigned(), "1 has caught up, 0 warms up");
    assertTrue(again);
    b.lacks(0, 3);
    assertEquals(Map.of("a", "[2, 3]/[]", "b", "[0, 1]/[]"), assigned());
    assertFalse(again);
  }

  @Test
  void aFewWarmUpAtATime() {
    application.stateful(6, true);
    application.warmups = 2;
    new Process("a").runs(0, 1, 2, 3, 4, 5);
    new Process("b");
    plannerd.commit(Map.of("0_0", "b", "0_1", "b", "0_2", "b", "0_3", "a", "0_4", "a", "0_5", "a"));
    assertEquals(Map.of("a", "[0, 1, 2, 3, 4, 5]/[]", "b", "[]/[0, 1]"), assigned());
    assertTrue(again);
  }

  @Test
  void whoHasLeastToReadTakesOverFromTheDead() {
    application.stateful(2, true);
    new Process("a").runs(0);
    new Process("b").lacks(1, 500);
    new Process("c").lacks(1, 10);
    plannerd.commit(Map.of("0_0", "a", "0_1", "b"));
    assertEquals(Map.of("a", "[0]/[]", "b", "[]/[1]", "c", "[1]/[]"), assigned());
    assertTrue(again);
  }

  @Test
  void standbysAreKept() {
    application.stateful(4, true);
    application.standbys = 1;
    new Process("a").runs(0, 1, 2).lacks(3, 0);
    new Process("b").runs(3).lacks(0, 0).lacks(1, 0).lacks(2, 0);
    plannerd.commit(Map.of("0_0", "a", "0_1", "a", "0_2", "b", "0_3", "b"));
    assertEquals(Map.of("a", "[0, 1]/[2, 3]", "b", "[2, 3]/[0, 1]"), assigned(), "2 changes places with its copy");
  }

  @Test
  void lagsThatCannotBeTold() {
    application.stateful(2, true);
    application.blind = true;
    new Process("a").runs(0, 1);
    new Process("b").lacks(1, 0);
    plannerd.commit(Map.of("0_0", "b", "0_1", "b", "9_9", "a"));
    assertEquals(Map.of("a", "[0]/[]", "b", "[1]/[0]"), assigned(), "a standby counts as good");
  }

  @Test
  void awayByNumberOfTasksForEachThread() {
    plannerd.is(FakePlannerd.Mood.BREAKS);
    timeout = "100";
    application.stateful(6, false);
    new Process("a").runs(0, 1, 2, 3, 4, 5);
    new Process("b").threads = 2;
    assertEquals(Map.of("a", "[0, 1]/[]", "b", "[2, 3, 4, 5]/[]"), assigned());
    plannerd.is(FakePlannerd.Mood.WELL);
    timeout = "10000";
    plannerd.commit(Map.of("9_9", "a", "0_0", "nobody"));
    assertEquals(Map.of("a", "[0, 1]/[]", "b", "[2, 3, 4, 5]/[]"), assigned(), "a table of another world");
  }

  @Test
  void mistakesAreNotFatal() {
    application.stateful(4, false);
    application.broken = true;
    new Process("a").runs(0, 1);
    new Process("b").runs(2, 3);
    assertEquals(Map.of("a", "[0, 1]/[]", "b", "[2, 3]/[]"), assigned());
  }

  @Test
  void twoProcessesOfOneName() {
    application.stateful(2, false);
    new Process("same").runs(0, 1);
    new Process("same");
    plannerd.commit(Map.of("0_0", "same", "0_1", "same"));
    TaskAssignor.TaskAssignment out = assignor().assign(application);
    out.assignment().forEach(a -> assertEquals(1, a.tasks().size(), "they share by number"));
  }
}
